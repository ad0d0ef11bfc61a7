package dev.polis.cluster.it;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.fixtures.history.History;
import dev.polis.fixtures.history.History.Outcome;
import dev.polis.fixtures.history.HistoryRecorder;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.BlockingStreams;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.common.NodeLabels;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes, reads and watches labels of one node over all curators of a cluster, and records the
 * history. Writers follow the leader, as clients of a cluster do. One reader and half of the
 * watchers follow it too; the others each stay with one curator, so that they also call one that
 * leads no more.
 */
final class FailoverClients implements AutoCloseable {

  private static final int WRITERS = 8;

  /** Half of them follow the leader, the others stay with one curator each. */
  private static final int WATCHERS = 8;

  /** The labels begin with this; their names are new in each history. */
  private static final String LABEL = "failover-";

  /** Short, since calls to a curator that knows no leader wait there. */
  private static final long CALL_MILLIS = 700;

  /** Long, since these calls wait at a stopped process until it continues. */
  private static final long PATIENT_MILLIS = 10_000;

  private static final int PATIENT_READERS = 16;

  /** The pause after each read, which leaves the processors to the nodes. */
  private static final Duration READ_BREATH = Duration.ofMillis(Tier.pick(25, 25, 10));

  /** The pause after each write: eight writers make as many writes as readers make reads. */
  private static final Duration WRITE_BREATH = Duration.ofMillis(Tier.pick(100, 100, 40));

  /** A number for each history, so that a write of an earlier one cannot appear in it. */
  private static final AtomicInteger HISTORIES = new AtomicInteger();

  private final String node;
  private final List<String> labels = new ArrayList<>();
  private final HistoryRecorder recorder = new HistoryRecorder(Map.of());
  private final LeaderResolver resolver;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private final Map<InetSocketAddress, ManagedChannel> curators = new HashMap<>();
  private final ManagedChannel leader;
  private final List<Thread> writers = new ArrayList<>();
  private final List<Thread> readers = new ArrayList<>();
  private final List<FailoverWatcher> watchers = new ArrayList<>();
  private final Map<String, Integer> refusals = new ConcurrentHashMap<>();
  private final AtomicLong reads = new AtomicLong();
  private final Queue<Write> writes = new ConcurrentLinkedQueue<>();
  private final AtomicLong numbers = new AtomicLong();
  private final AtomicLong calls = new AtomicLong();
  private final Map<InetSocketAddress, Long> answered = new ConcurrentHashMap<>();
  private volatile boolean over;

  /** Starts writers and readers of the labels of a node. */
  FailoverClients(RpcClients owner, List<NodeEndpoint> endpoints, String node) {
    this.node = node;
    this.resolver = LeaderResolver.fixed(endpoints, owner, LogTree.create().log("resolver"));
    this.leader = resolver.channel();
    channels.add(leader);
    int history = HISTORIES.incrementAndGet();
    for (int n = 0; n < WRITERS; n++) {
      String label = LABEL + history + "-" + n;
      labels.add(label);
      writers.add(begin("writer of " + label, WRITE_BREATH, () -> write(label)));
    }
    readers.add(
        begin(
            "reader of the leader",
            READ_BREATH,
            () -> read("reader of the leader", leader, CALL_MILLIS)));
    for (NodeEndpoint curator : endpoints) {
      ManagedChannel channel = owner.dial(curator);
      channels.add(channel);
      curators.put(curator.address(), channel);
      String name = "reader of " + curator;
      readers.add(begin(name, READ_BREATH, () -> readAt(curator.address(), name, channel)));
    }
    for (int n = 0; n < WATCHERS; n++) {
      boolean follows = n % 2 == 0;
      NodeEndpoint curator = endpoints.get(n / 2 % endpoints.size());
      watchers.add(
          new FailoverWatcher(
              "watcher %d of %s".formatted(n, follows ? "the leader" : curator),
              node,
              follows ? leader : curators.get(curator.address()),
              follows,
              recorder,
              this::written));
    }
  }

  /** Holds the times of an acknowledged write. */
  private record Write(long begun, long ended) {}

  /** Makes one call. */
  private interface Call {
    void make() throws StatusException, InterruptedException;
  }

  private Thread begin(String name, Duration breath, Call call) {
    return Thread.ofVirtual().name(name).start(() -> repeat(breath, call));
  }

  private void repeat(Duration breath, Call call) {
    try {
      while (!over && !Thread.currentThread().isInterrupted()) {
        try {
          call.make();
        } catch (StatusException failed) {
          // The history has no answer of it, which is the most that can be known.
          refusals.merge(failed.getMessage().replaceAll("[0-9.]+", "#"), 1, Integer::sum);
          channels.forEach(ManagedChannel::resetConnectBackoff);
        }
        calls.incrementAndGet();
        LockSupport.parkNanos(breath.toNanos());
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void write(String label) throws StatusException {
    write(label, leader);
  }

  private void write(String label, ManagedChannel channel) throws StatusException {
    String value = Long.toString(numbers.incrementAndGet());
    long begun = System.nanoTime();
    HistoryRecorder.PendingWrite write =
        recorder.write(Thread.currentThread().getName(), label, value);
    management(channel, CALL_MILLIS)
        .updateNodeLabels(
            UpdateNodeLabelsRequest.newBuilder()
                .setId(node)
                .addUpsert(UpdateNodeLabelsRequest.Pair.newBuilder().setKey(label).setValue(value))
                .build());
    write.acknowledged();
    writes.add(new Write(begun, System.nanoTime()));
  }

  /** Reads at one curator, and keeps the beginning of the last read that it has answered. */
  private void readAt(InetSocketAddress curator, String name, ManagedChannel channel)
      throws StatusException, InterruptedException {
    long begun = System.nanoTime();
    read(name, channel, CALL_MILLIS);
    answered.put(curator, begun);
  }

  private Map<String, String> read(String name, ManagedChannel channel, long millis)
      throws StatusException, InterruptedException {
    HistoryRecorder.PendingRead read = recorder.read(name);
    BlockingClientCall<?, Node> nodes =
        management(channel, millis).getNodes(GetNodesRequest.getDefaultInstance());
    try {
      for (Node next = nodes.read(); next != null; next = nodes.read()) {
        if (next.getId().equals(node)) {
          Map<String, String> found = written(next.getLabels());
          read.found(found);
          reads.incrementAndGet();
          return found;
        }
      }
    } finally {
      BlockingStreams.end(nodes, "the record was found");
    }
    throw new AssertionError("the cluster lists no node " + node);
  }

  private Map<String, String> written(NodeLabels found) {
    return found.getPairsList().stream()
        .filter(pair -> labels.contains(pair.getKey()))
        .collect(Collectors.toMap(NodeLabels.Pair::getKey, NodeLabels.Pair::getValue));
  }

  private static ManagementGrpc.ManagementBlockingV2Stub management(
      ManagedChannel channel, long millis) {
    return ManagementGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(millis, TimeUnit.MILLISECONDS);
  }

  /** Returns the leader that the clients know. */
  InetSocketAddress leader() {
    return resolver.leader().peek().orElseThrow().address();
  }

  /**
   * Begins reads at a stopped curator, over an open connection. They are the first calls that it
   * gets when it continues, and begin after all earlier writes.
   */
  void queueReads(InetSocketAddress curator) {
    for (int n = 0; n < PATIENT_READERS; n++) {
      String name = "patient reader " + n;
      readers.add(
          Thread.ofVirtual().name(name).start(() -> readPatiently(name, curators.get(curator))));
    }
  }

  private void readPatiently(String name, ManagedChannel channel) {
    try {
      read(name, channel, PATIENT_MILLIS);
    } catch (StatusException refused) {
      // A curator that leads no more has no answer, which is right.
      return;
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  /** Describes what was done and, by their reasons, the calls that failed. */
  private String troubles() {
    return this + "; failed calls: " + refusals;
  }

  /** Returns whether a curator acknowledges a write that is sent to it alone. */
  boolean accepts(InetSocketAddress curator) {
    try {
      write(labels.getFirst(), curators.get(curator));
      return true;
    } catch (StatusException refused) {
      return false;
    }
  }

  /** Returns whether a curator has answered a read that began after this time. */
  boolean hasAnsweredSince(InetSocketAddress curator, long nanoTime) {
    return Optional.ofNullable(answered.get(curator))
        .filter(last -> last - nanoTime > 0)
        .isPresent();
  }

  /** Waits for further calls, whatever their outcome. */
  void awaitCalls(long more, String when) throws Exception {
    long made = calls.get() + more;
    Await.until(
        TestNode.PATIENCE, more + " calls " + when, () -> calls.get() >= made, this::troubles);
  }

  /** Waits for further writes and reads. */
  void awaitProgress(int more, String when) throws Exception {
    awaitProgress(more, when, TestNode.PATIENCE);
  }

  /** Waits for further writes and reads, this long at most. */
  void awaitProgress(int more, String when, Duration patience) throws Exception {
    int written = writes.size() + more;
    long read = reads.get() + more;
    Await.until(
        patience,
        more + " writes and reads " + when,
        () -> writes.size() >= written && reads.get() >= read,
        this::troubles);
  }

  /** Waits until a write that began after this time is acknowledged; returns the time since it. */
  Duration awaitWriteSince(long nanoTime, String when) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "a write " + when,
        () -> since(nanoTime).findAny().isPresent(),
        this::troubles);
    long first = since(nanoTime).mapToLong(Write::ended).min().orElseThrow();
    return Duration.ofNanos(first - nanoTime);
  }

  private Stream<Write> since(long nanoTime) {
    return writes.stream().filter(write -> write.begun() - nanoTime > 0);
  }

  /**
   * Ends the writers and readers, waits until each watcher of the leader has the last state,
   * deletes the labels, and returns the history.
   */
  History settle() throws Exception {
    over = true;
    for (Thread each : Stream.concat(writers.stream(), readers.stream()).toList()) {
      each.join();
    }
    AtomicReference<Map<String, String>> last = new AtomicReference<>(Map.of());
    Await.until(
        TestNode.PATIENCE,
        "the last state to be readable",
        () -> answers(() -> last.set(read("the last reader", leader, CALL_MILLIS))));
    for (FailoverWatcher watcher : watchers) {
      Await.until(
          TestNode.PATIENCE,
          "a watcher to have heard the last state " + last.get(),
          () -> watcher.knows(last.get()),
          watcher::toString);
    }
    watchers.forEach(FailoverWatcher::end);
    History history = recorder.history();
    Await.until(TestNode.PATIENCE, "the labels to be deleted", () -> answers(this::deleteLabels));
    return history;
  }

  private static boolean answers(Call call) throws InterruptedException {
    try {
      call.make();
      return true;
    } catch (StatusException notYet) {
      return false;
    }
  }

  private void deleteLabels() throws StatusException {
    management(leader, CALL_MILLIS)
        .updateNodeLabels(
            UpdateNodeLabelsRequest.newBuilder().setId(node).addAllDelete(labels).build());
  }

  @Override
  public String toString() {
    return "%d writes acknowledged, %d of unknown outcome; %d reads; %d watches, %d events; the leader is at %s"
        .formatted(
            recorder.count(Outcome.ACKNOWLEDGED),
            recorder.count(Outcome.UNKNOWN),
            reads.get(),
            watchers.stream().mapToLong(FailoverWatcher::streams).sum(),
            watchers.stream().mapToLong(FailoverWatcher::events).sum(),
            resolver.leader().peek());
  }

  @Override
  public void close() {
    over = true;
    Stream.concat(writers.stream(), readers.stream()).forEach(Thread::interrupt);
    watchers.forEach(FailoverWatcher::end);
    channels.forEach(ManagedChannel::shutdownNow);
    resolver.close();
  }
}
