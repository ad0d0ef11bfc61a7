package dev.polis.kubernetes.control;

import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import java.net.URI;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Gives code of this node the way to its API server.
 *
 * @param server its address
 * @param keys the newest keys and certificates, whenever it is asked
 */
public record ControlAccess(URI server, Supplier<KubeKeys> keys) {

  /** Opens a client that may do everything; its opener closes it. */
  public KubeClient open() {
    return open(server);
  }

  /** Opens such a client of another program of the control plane. */
  KubeClient open(URI other) {
    return new KubeClient(
        other, () -> Optional.of(keys.get().identity(KubeIdentity.MASTER)), KubeKeys.trust(keys));
  }
}
