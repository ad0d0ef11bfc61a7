package dev.polis.convergence;

import dev.polis.backoff.Backoff;
import dev.polis.event.MutableValue;
import dev.polis.logtree.Log;
import dev.polis.rpc.BlockingStreams;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.WatchPluginSetRequest;
import dev.polis.wire.cluster.WatchPluginSetResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;

/**
 * Follows the set of wanted plugins at the curator's leader. While the leader is away, what it said
 * last counts.
 */
final class WantedSetWatch {

  private final ClusterConnection connection;
  private final MutableValue<WantedSet> wanted;

  WantedSetWatch(ClusterConnection connection, MutableValue<WantedSet> wanted) {
    this.connection = connection;
    this.wanted = wanted;
  }

  void run(Context context) throws InterruptedException {
    context.healthy();
    Backoff backoff = connection.backoff();
    while (true) {
      try {
        follow(context.log(), backoff);
      } catch (StatusException e) {
        context.log().info("the watch of the wanted plugins ended: %s", e.getMessage());
      }
      backoff.pause();
    }
  }

  private void follow(Log log, Backoff backoff) throws InterruptedException, StatusException {
    BlockingClientCall<?, WatchPluginSetResponse> call =
        connection
            .pluginSet()
            .withWaitForReady()
            .watchPluginSet(WatchPluginSetRequest.getDefaultInstance());
    try {
      for (WatchPluginSetResponse now = call.read(); now != null; now = call.read()) {
        backoff.reset();
        log.v(1).info("the cluster wants %d plugins", now.getWantedCount());
        wanted.set(new WantedSet(now.getWantedList(), now.getHoldersList()));
      }
    } finally {
      BlockingStreams.end(call, "this watch is over");
    }
  }
}
