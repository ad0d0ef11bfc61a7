package dev.polis.kubernetes.proxy;

import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.kubernetes.control.ControlAccess;
import dev.polis.kubernetes.pki.KubeIdentity;
import dev.polis.kubernetes.pki.KubeKeys;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** Finds the API server of this node's control plane. Thread-safe. */
public final class ControlBackend implements ProxyBackend.Source {

  /** The time in which replaced code finds the running API server, also on a busy node. */
  private static final Duration WAIT = Duration.ofSeconds(10);

  private static final String NOT_READY =
      "the Kubernetes API server of this node is not ready; \"polisctl explain KubernetesController\""
          + " says why";

  private final Value<Optional<ControlAccess>> plane;
  private Found latest; // null before the first access; guarded by this

  /**
   * Holds the backend of an access and a certificate. Equal values have the same backend, so that
   * the proxy keeps its connections. An API server reads the certificate from the connection with
   * each request and refuses it once it has expired, so a renewed certificate needs new
   * connections.
   */
  private record Found(ControlAccess access, TlsIdentity proxy, ProxyBackend.Present backend) {}

  /**
   * Creates the backend.
   *
   * @param plane the access to the API server; empty while it is not ready
   */
  public ControlBackend(Value<Optional<ControlAccess>> plane) {
    this.plane = plane;
  }

  /** Returns the API server without a wait; empty while there is no access to it. */
  public Optional<ProxyBackend.Present> present() {
    return plane.peek().orElse(Optional.empty()).map(this::backend);
  }

  @Override
  public ProxyBackend await() throws InterruptedException {
    Optional<ProxyBackend.Present> now = present();
    if (now.isPresent()) {
      return now.get();
    }
    try (Watcher<Optional<ControlAccess>> watcher = plane.watch()) {
      return backend(watcher.get(Optional::isPresent, WAIT).orElseThrow());
    } catch (TimeoutException late) {
      return new ProxyBackend.Starting(NOT_READY);
    }
  }

  private synchronized ProxyBackend.Present backend(ControlAccess access) {
    TlsIdentity proxy = access.keys().get().identity(KubeIdentity.AUTH_PROXY_CLIENT);
    if (latest == null || !latest.access().equals(access) || !latest.proxy().equals(proxy)) {
      URI server = access.server();
      latest =
          new Found(
              access,
              proxy,
              new ProxyBackend.Present(
                  new InetSocketAddress(server.getHost(), server.getPort()),
                  KubeKeys.client(access.keys(), KubeIdentity.AUTH_PROXY_CLIENT),
                  TlsContexts.anonymous(
                      KubeKeys.trust(access.keys(), KubernetesNames.SERVER_NAME))));
    }
    return latest.backend();
  }
}
