package dev.polis.kubernetes.proxy;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.Value;
import dev.polis.pki.Crl;
import dev.polis.rpc.TlsTask;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * Serves Kubernetes to users of the cluster at the node's address, as a supervised task. Its owner
 * closes it after its runs.
 */
public final class AuthProxy implements Task, AutoCloseable {

  /** Holds the connections to the API server. */
  private record Pools(ProxyPool users, ProxyPool bearers) implements AutoCloseable {

    static Pools open() {
      return new Pools(
          new ProxyPool(ProxyBackend.Present::tls), new ProxyPool(ProxyBackend.Present::anonymous));
    }

    @Override
    public void close() {
      users.close();
      bearers.close();
    }
  }

  private final String pid;
  private final int port;
  private final ProxyAccess access;
  private final Value<NetworkStatus> network;
  private final ProxyBackend.Source backend;
  private final Duration part;

  /** The connections for the next run; empty unless the proxy has prepared some. */
  private final AtomicReference<Optional<Pools>> prepared = new AtomicReference<>(Optional.empty());

  /**
   * Creates a proxy that serves once it runs.
   *
   * @param pid the configuration with the key {@code port}
   * @param port the port; 0 for any free one
   * @param cluster the node's credentials
   * @param network the node's address
   * @param revoked the cluster's newest revocation list
   * @param backend returns the API server, for each request
   */
  public AuthProxy(
      String pid,
      int port,
      Value<ClusterStatus> cluster,
      Value<NetworkStatus> network,
      Supplier<Optional<Crl>> revoked,
      ProxyBackend.Source backend) {
    this(pid, port, cluster, network, revoked, backend, ProxyHandler.PART);
  }

  AuthProxy(
      String pid,
      int port,
      Value<ClusterStatus> cluster,
      Value<NetworkStatus> network,
      Supplier<Optional<Crl>> revoked,
      ProxyBackend.Source backend,
      Duration part) {
    this.pid = pid;
    this.port = port;
    this.access = new ProxyAccess(cluster, revoked, InstantSource.system());
    this.network = network;
    this.backend = backend;
    this.part = part;
  }

  /**
   * Connects to the API server while another instance serves, so that the first requests of the
   * next run wait neither for handshakes nor for the load of code.
   */
  public void prepare(ProxyBackend.Present server) {
    Pools pools = Pools.open();
    pools.users().prepare(server);
    pools.bearers().prepareWithRequest(server);
    prepared.getAndSet(Optional.of(pools)).ifPresent(Pools::close);
  }

  /** Closes the connections that no run has taken. */
  @Override
  public void close() {
    prepared.getAndSet(Optional.empty()).ifPresent(Pools::close);
  }

  /** Waits for credentials and an address, then serves until it is cancelled. */
  @Override
  public void run(Context context) throws InterruptedException, IOException, RestartRequest {
    try (Pools pools = prepared.getAndSet(Optional.empty()).orElseGet(Pools::open)) {
      new TlsTask<>(
              new TlsTask.Service(
                  pid,
                  port,
                  "the proxy serves Kubernetes clients at https://%s, for users of the cluster",
                  access::context,
                  ProxyTls.ofClients(),
                  log ->
                      new ProxyHandler(access, backend, pools.users(), pools.bearers(), part, log)),
              access::awaitCredentials,
              network,
              NetworkStatus::address)
          .keepingItsPort()
          .run(context);
    }
  }
}
