package dev.polis.kubernetes.worker;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.files.FilePlacement;
import java.net.URI;
import java.util.List;
import java.util.Map;

/** Writes the file with the API server's address and a program's identity. */
final class Kubeconfig {

  private static final String ONLY = "polis";

  private Kubeconfig() {}

  /**
   * Returns the text of the file: JSON, which is YAML. It contains the paths of certificate and
   * key, so that the program reads renewed ones.
   */
  static String text(URI server, FilePlacement ca, FilePlacement certificate, FilePlacement key) {
    return JsonText.text(
        Map.of(
            "apiVersion",
            "v1",
            "kind",
            "Config",
            "clusters",
            named(
                "cluster",
                Map.of(
                    "server", server,
                    // No API server has a certificate for the address of a load balancer.
                    "tls-server-name", KubernetesNames.SERVER_NAME,
                    "certificate-authority", ca)),
            "users",
            named("user", Map.of("client-certificate", certificate, "client-key", key)),
            "contexts",
            named("context", Map.of("cluster", ONLY, "user", ONLY)),
            "current-context",
            ONLY));
  }

  private static List<?> named(String kind, Map<String, ?> object) {
    return List.of(Map.of("name", ONLY, kind, object));
  }
}
