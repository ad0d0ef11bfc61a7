package dev.polis.cluster.it;

import dev.polis.fixtures.history.HistoryRecorder;
import dev.polis.rpc.BlockingStreams;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Watches one node through all ends of its streams, and records each stream as an observation of
 * the history. A watcher that follows the leader keeps each stream as long as it lasts; one that
 * stays with a curator, leader or not, opens another after some events.
 */
final class FailoverWatcher {

  /** The longest time to the first event: a curator that knows no leader lets the call wait. */
  private static final long FIRST_MILLIS = 700;

  /** The longest stream of a watcher that stays with one curator. */
  private static final long STREAM_MILLIS = 2_500;

  /** The events of such a stream: a few show that it works. */
  private static final int EVENTS = 12;

  /** The pause after a stream that failed, which leaves the processors to the nodes. */
  private static final Duration PAUSE = Duration.ofMillis(50);

  private final String name;
  private final WatchRequest request;
  private final ManagedChannel channel;
  private final boolean followsTheLeader;
  private final HistoryRecorder recorder;
  private final Function<NodeLabels, Map<String, String>> written;
  private final AtomicLong streams = new AtomicLong();
  private final AtomicLong events = new AtomicLong();
  private final Thread thread;
  private volatile Optional<HistoryRecorder.OpenWatch> current = Optional.empty();
  private volatile boolean over;

  /**
   * Starts a watcher.
   *
   * @param written returns the labels of the history out of all of a node
   */
  FailoverWatcher(
      String name,
      String node,
      ManagedChannel channel,
      boolean followsTheLeader,
      HistoryRecorder recorder,
      Function<NodeLabels, Map<String, String>> written) {
    this.name = name;
    this.request =
        WatchRequest.newBuilder()
            .setNodeInCluster(WatchRequest.NodeInCluster.newBuilder().setNodeId(node))
            .build();
    this.channel = channel;
    this.followsTheLeader = followsTheLeader;
    this.recorder = recorder;
    this.written = written;
    this.thread = Thread.ofVirtual().name(name).start(this::run);
  }

  private void run() {
    try {
      while (!over) {
        try {
          follow();
        } catch (StatusException ended) {
          channel.resetConnectBackoff();
          LockSupport.parkNanos(PAUSE.toNanos());
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void follow() throws StatusException, InterruptedException {
    HistoryRecorder.OpenWatch watch = recorder.watch(name);
    CuratorGrpc.CuratorBlockingV2Stub stub = CuratorGrpc.newBlockingV2Stub(channel);
    BlockingClientCall<?, WatchEvent> call =
        (followsTheLeader ? stub : stub.withDeadlineAfter(STREAM_MILLIS, TimeUnit.MILLISECONDS))
            .watch(request);
    streams.incrementAndGet();
    current = Optional.of(watch);
    try {
      int seen = 0;
      WatchEvent event = first(call);
      while (event != null && (followsTheLeader || seen < EVENTS)) {
        for (Node each : event.getNodesList()) {
          watch.saw(written.apply(each.getLabels()));
          events.incrementAndGet();
          seen++;
        }
        event = call.read();
      }
    } finally {
      watch.ended();
      BlockingStreams.end(call, "the watcher begins anew");
    }
  }

  private static WatchEvent first(BlockingClientCall<?, WatchEvent> call)
      throws StatusException, InterruptedException {
    try {
      return call.read(FIRST_MILLIS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException silent) {
      throw new StatusException(Status.DEADLINE_EXCEEDED.withDescription("no first event"));
    }
  }

  /** Returns whether an open stream has brought the last state; always, without the leader. */
  boolean knows(Map<String, String> last) {
    boolean known =
        current.filter(watch -> watch.isOpen() && watch.last().equals(last)).isPresent();
    if (known) {
      current.orElseThrow().followedToTheEnd();
    }
    return known || !followsTheLeader;
  }

  long streams() {
    return streams.get();
  }

  long events() {
    return events.get();
  }

  /** Ends this watcher. */
  void end() {
    over = true;
    thread.interrupt();
  }

  @Override
  public String toString() {
    return "%s: %d events of %d streams, the last %s"
        .formatted(
            name, events(), streams(), current.map(HistoryRecorder.OpenWatch::last).orElse(null));
  }
}
