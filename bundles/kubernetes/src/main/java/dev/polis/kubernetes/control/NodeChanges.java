package dev.polis.kubernetes.control;

import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.rpc.resolver.ListedNodes;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
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
    leader.follow(
        context,
        "the watch of the nodes",
        channel ->
            CuratorGrpc.newBlockingV2Stub(channel).withWaitForReady().watch(ListedNodes.REQUEST),
        () -> (WatchEvent event) -> events.release());
  }
}
