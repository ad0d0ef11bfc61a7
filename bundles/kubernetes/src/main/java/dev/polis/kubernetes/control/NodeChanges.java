package dev.polis.kubernetes.control;

import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Wakes a task when the record of a node of the cluster changes. Thread-safe. */
final class NodeChanges {

  /** A node that reports without end must not keep its readers busy. */
  private static final Duration LEAST = Duration.ofMillis(500);

  private final Semaphore events = new Semaphore(0);

  /** Waits for a change since the last call, but no longer than this. */
  void await(Duration longest) throws InterruptedException {
    Thread.sleep(LEAST);
    events.tryAcquire(longest.toMillis(), TimeUnit.MILLISECONDS);
    events.drainPermits();
  }

  /** Watches the records until this thread is interrupted. */
  void follow(LeaderConnection leader, Context context) throws InterruptedException {
    WatchRequest nodes =
        WatchRequest.newBuilder()
            .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
            .build();
    leader.follow(
        context,
        "the watch of the nodes",
        channel -> CuratorGrpc.newBlockingV2Stub(channel).withWaitForReady().watch(nodes),
        () -> (WatchEvent event) -> events.release());
  }
}
