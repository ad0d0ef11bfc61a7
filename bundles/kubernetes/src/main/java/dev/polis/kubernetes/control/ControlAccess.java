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
 * @param server the API server's address
 * @param keys supplies the newest keys and certificates
 */
public record ControlAccess(URI server, Supplier<KubeKeys> keys) {

  /** Opens a client with all rights; its opener closes it. */
  public KubeClient open() {
    return open(server, KubernetesNames.SERVER_NAME);
  }

  /**
   * Opens a client with all rights of another program of the control plane.
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
