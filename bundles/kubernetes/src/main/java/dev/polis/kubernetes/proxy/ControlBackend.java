package dev.polis.kubernetes.proxy;

import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.kubernetes.control.ControlAccess;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** Finds the API server of this node's control plane. Thread-safe. */
public final class ControlBackend implements ProxyBackend.Source {

  /** Code that was replaced has found the running API server again by then, also on a busy node. */
  private static final Duration WAIT = Duration.ofSeconds(10);

  private static final String NOT_READY =
      "the Kubernetes API server of this node is not ready; \"polisctl explain KubernetesController\""
          + " says why";

  private final Value<Optional<ControlAccess>> plane;
  private Found latest; // null before the first access; guarded by this

  /** What was found for an access; equal for the same one, so that connections can be kept. */
  private record Found(ControlAccess access, ProxyBackend.Present backend) {}

  /**
   * Makes it.
   *
   * @param plane the way to the API server; empty as long as it is not ready
   */
  public ControlBackend(Value<Optional<ControlAccess>> plane) {
    this.plane = plane;
  }

  @Override
  public ProxyBackend await() throws InterruptedException {
    Optional<ControlAccess> now = plane.peek().orElse(Optional.empty());
    if (now.isPresent()) {
      return backend(now.get());
    }
    try (Watcher<Optional<ControlAccess>> watcher = plane.watch()) {
      return backend(watcher.get(Optional::isPresent, WAIT).orElseThrow());
    } catch (TimeoutException late) {
      return new ProxyBackend.Starting(NOT_READY);
    }
  }

  private synchronized ProxyBackend backend(ControlAccess access) {
    if (latest == null || !latest.access().equals(access)) {
      URI server = access.server();
      latest =
          new Found(
              access,
              new ProxyBackend.Present(
                  new InetSocketAddress(server.getHost(), server.getPort()),
                  KubeKeys.client(access.keys(), KubeIdentity.AUTH_PROXY_CLIENT)));
    }
    return latest.backend();
  }
}
