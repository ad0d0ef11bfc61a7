package dev.polis.rpc;

import dev.polis.boot.StopReason;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
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

/**
 * Keeps a listener open at the node's address, as a supervised task: waits until the node has
 * credentials and an address, and asks to be started anew when the address changes.
 *
 * @param <N> the status that tells the address
 */
final class ListenerTask<N> implements Task {

  /**
   * How long a port that is kept stays open for the next run: a plugin of a role is stopped before
   * the next one starts, which takes a fraction of a second.
   */
  private static final Duration FOR_THE_NEXT = Duration.ofSeconds(3);

  /** An open listener. */
  interface Open {
    /** Returns where it listens. */
    InetSocketAddress address();

    /** Ends serving, and keeps the port open for the next one for a while. */
    void close(Duration keep);
  }

  /** Opens a listener. */
  @FunctionalInterface
  interface Opener {
    Open open(InetAddress here, Log log) throws IOException;
  }

  /** Waits for something. */
  @FunctionalInterface
  interface Readiness {
    void await() throws InterruptedException;
  }

  private final String announcement;
  private final Opener opener;
  private final Readiness credentials;
  private final Value<N> network;
  private final Function<N, Optional<InetAddress>> address;
  private final boolean kept;

  ListenerTask(
      String announcement,
      Opener opener,
      Readiness credentials,
      Value<N> network,
      Function<N, Optional<InetAddress>> address) {
    this(announcement, opener, credentials, network, address, false);
  }

  private ListenerTask(
      String announcement,
      Opener opener,
      Readiness credentials,
      Value<N> network,
      Function<N, Optional<InetAddress>> address,
      boolean kept) {
    this.announcement = announcement;
    this.opener = opener;
    this.credentials = credentials;
    this.network = network;
    this.address = address;
    this.kept = kept;
  }

  /** Returns the same task, which keeps its port open for a moment when its code is replaced. */
  ListenerTask<N> keepingItsPort() {
    return new ListenerTask<>(announcement, opener, credentials, network, address, true);
  }

  @Override
  public void run(Context context) throws InterruptedException, IOException, RestartRequest {
    credentials.await();
    try (Watcher<N> watcher = network.watch()) {
      N status = watcher.get(each -> address.apply(each).isPresent());
      InetAddress here = address.apply(status).orElseThrow();
      Open listener = opener.open(here, context.log());
      try {
        context.log().info(announcement, HostPort.of(listener.address()));
        context.healthy();
        watcher.get(each -> !address.apply(each).equals(Optional.of(here)));
        throw new RestartRequest("the node's address is no longer " + here.getHostAddress());
      } finally {
        listener.close(kept && replaced(context) ? FOR_THE_NEXT : Duration.ZERO);
      }
    }
  }

  /** Returns whether another instance of this code is expected to serve at the same port. */
  private static boolean replaced(Context context) {
    return context.stopReason().equals(Optional.of(StopReason.CODE_REPLACED));
  }
}
