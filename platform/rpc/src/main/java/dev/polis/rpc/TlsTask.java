package dev.polis.rpc;

import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Keeps a {@link TlsListener} open at the node's address, as a supervised task. It waits until the
 * node has credentials and an address, and requests a restart when the address changes.
 *
 * @param <N> the status that tells the address
 */
public final class TlsTask<N> implements Task {

  /**
   * The time that a port stays open for the next run of a role's plugin, which follows within a
   * fraction of a second.
   */
  private static final Duration FOR_THE_NEXT = Duration.ofSeconds(3);

  /**
   * Describes the served port.
   *
   * @param pid the configuration whose key {@code port} chose the port; failures name it
   * @param port the port; 0 for any free one
   * @param announcement the log line of an open port, with {@code %s} for address and port
   * @param context makes the TLS context, once for each start
   * @param parameters the protocols, and whether clients need a certificate
   * @param handler makes the handler of the requests, given the log of this task
   */
  public record Service(
      String pid,
      int port,
      String announcement,
      Supplier<SSLContext> context,
      SSLParameters parameters,
      Function<Log, TlsHandler> handler) {}

  /** Waits until the node has a certificate. */
  @FunctionalInterface
  public interface Readiness {
    void await() throws InterruptedException;
  }

  private final Service service;
  private final Readiness credentials;
  private final Value<N> network;
  private final Function<N, Optional<InetAddress>> address;
  private final boolean kept;

  /**
   * Creates a task, which serves once it runs.
   *
   * @param credentials waits until the node has a certificate to present
   * @param network follows the node's address
   * @param address reads it from the status; empty while there is none
   */
  public TlsTask(
      Service service,
      Readiness credentials,
      Value<N> network,
      Function<N, Optional<InetAddress>> address) {
    this(service, credentials, network, address, false);
  }

  private TlsTask(
      Service service,
      Readiness credentials,
      Value<N> network,
      Function<N, Optional<InetAddress>> address,
      boolean kept) {
    this.service = service;
    this.credentials = credentials;
    this.network = network;
    this.address = address;
    this.kept = kept;
  }

  /**
   * Returns the same task, which keeps its port open for a moment when its code is replaced. It
   * serves for tasks that end before the next one begins, such as the run of a role.
   */
  public TlsTask<N> keepingItsPort() {
    return new TlsTask<>(service, credentials, network, address, true);
  }

  /** Serves until cancelled. */
  @Override
  public void run(Context context) throws InterruptedException, IOException, RestartRequest {
    credentials.await();
    try (Watcher<N> watcher = network.watch()) {
      N status = watcher.get(each -> address.apply(each).isPresent());
      InetAddress here = address.apply(status).orElseThrow();
      TlsListener listener = open(here, context.log());
      try {
        context.log().info(service.announcement(), HostPort.of(listener.address()));
        context.healthy();
        watcher.get(each -> !address.apply(each).equals(Optional.of(here)));
        throw new RestartRequest("the node's address is no longer " + here.getHostAddress());
      } finally {
        listener.close(kept && replaced(context) ? FOR_THE_NEXT : Duration.ZERO);
      }
    }
  }

  private TlsListener open(InetAddress here, Log log) throws IOException {
    return TlsListener.open(
        service.pid(),
        new InetSocketAddress(here, service.port()),
        service.context().get(),
        service.parameters(),
        service.handler().apply(log),
        log);
  }

  /** Returns whether a newer instance of this code will serve at the same port. */
  private static boolean replaced(Context context) {
    return context.stopReason().equals(Optional.of(StopReason.CODE_REPLACED));
  }
}
