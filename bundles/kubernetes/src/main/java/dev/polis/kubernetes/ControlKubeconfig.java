package dev.polis.kubernetes;

import dev.polis.api.kubeconfig.KubeconfigIssuer;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.kubernetes.control.ControlAccess;
import dev.polis.kubernetes.pki.KubeKeys;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsIdentity;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** Issues credentials with the authority of this node's control plane. Thread-safe. */
final class ControlKubeconfig implements KubeconfigIssuer {

  /**
   * The life of a developer's certificate: a working day, after which developers request a new one.
   */
  private static final Duration LIFETIME = Duration.ofHours(12);

  private static final Duration WAIT = Duration.ofMinutes(1);

  private final Value<Optional<ControlAccess>> plane;

  ControlKubeconfig(Value<Optional<ControlAccess>> plane) {
    this.plane = plane;
  }

  @Override
  public String issue(String user, List<String> groups)
      throws TimeoutException, InterruptedException {
    try (Watcher<Optional<ControlAccess>> watcher = plane.watch()) {
      return text(watcher.get(Optional::isPresent, WAIT).orElseThrow(), user, groups);
    } catch (TimeoutException late) {
      TimeoutException inWords =
          new TimeoutException(
              "the Kubernetes API server of this node is not ready after %d s; 'polisctl explain KubernetesController' says why"
                  .formatted(WAIT.toSeconds()));
      inWords.initCause(late);
      throw inWords;
    }
  }

  private static String text(ControlAccess access, String user, List<String> groups) {
    KubeKeys keys = access.keys().get();
    TlsIdentity identity = keys.issue(user, groups, LIFETIME);
    return """
        apiVersion: v1
        kind: Config
        clusters:
        - name: polis-debug
          cluster:
            server: %s
            certificate-authority-data: %s
        users:
        - name: polis-debug
          user:
            client-certificate-data: %s
            client-key-data: %s
        contexts:
        - name: polis-debug
          context:
            cluster: polis-debug
            user: polis-debug
        current-context: polis-debug
        """
        .formatted(
            access.server(),
            data(Pem.encode(keys.ca())),
            data(Pem.encode(identity.certificate())),
            data(Pem.encode(identity.privateKey())));
  }

  private static String data(String pem) {
    return Base64.getEncoder().encodeToString(pem.getBytes(StandardCharsets.UTF_8));
  }
}
