package dev.polis.kubernetes.control;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import java.net.URI;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Gives code of this node access to its API server.
 *
 * @param server its address
 * @param keys supplies the newest keys and certificates
 */
public record ControlAccess(URI server, Supplier<KubeKeys> keys) {

  /** Opens a client that may do everything; its opener closes it. */
  public KubeClient open() {
    return open(server, KubernetesNames.SERVER_NAME);
  }

  /**
   * Opens such a client of another program of the control plane.
   *
   * @param name the DNS name in its certificate
   */
  KubeClient open(URI other, String name) {
    return new KubeClient(
        other,
        () -> Optional.of(keys.get().identity(KubeIdentity.MASTER)),
        KubeKeys.trust(keys, name));
  }
}
