package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeLabels;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Writes to the record of one node across the kills of its processes. A writer whose call was not
 * answered reads its label before it writes again, so that no later number hides a lost one.
 */
final class CrashWriters implements AutoCloseable {

  /** More than one writer, so that an overwritten record loses another writer's number. */
  private static final int WRITERS = 4;

  /**
   * The pause between two calls of one writer, in nanoseconds: the test concerns kills, not load.
   * With so many writers, a kill still meets a write under way in most cases.
   */
  private static final long PAUSE = 20_000_000;

  /** The same pause between random kills in the long form, so that most of them meet a write. */
  private static final long PAUSE_BETWEEN_KILLS = Tier.isLong() ? 5_000_000 : PAUSE;

  /** The same pause after a call without an answer: a starting node needs the machine. */
  private static final long PAUSE_WITHOUT_NODE = 50_000_000;

  private final OwnerApi owner;
  private final String id;
  private final List<NumberedWriter> writers;
  private final ByteString ca;
  private final Node rest;
  private final List<Thread> threads;
  private final AtomicInteger unanswered = new AtomicInteger();
  private final Queue<String> troubles = new ConcurrentLinkedQueue<>();
  private final long pause;
  private volatile boolean over;

  private CrashWriters(OwnerApi owner, String id, long pause) throws Exception {
    this.pause = pause;
    this.owner = owner;
    this.id = id;
    this.writers =
        IntStream.range(0, WRITERS).mapToObj(n -> new NumberedWriter(owner, id, n, 0)).toList();
    this.ca = owner.clusterInfo().getCaCertificate();
    this.rest = rest(owner.node(id));
    this.threads =
        writers.stream()
            .map(each -> Thread.ofVirtual().name(each.label()).start(() -> run(each)))
            .toList();
  }

  /** Begins to write as the owner of a node that is HOME. */
  static CrashWriters of(TestNode node) throws Exception {
    return of(node, PAUSE_BETWEEN_KILLS);
  }

  /** Does the same beside faults that a test times itself. */
  static CrashWriters beside(TestNode node) throws Exception {
    return of(node, PAUSE);
  }

  private static CrashWriters of(TestNode node, long pause) throws Exception {
    CrashWriters writers = new CrashWriters(OwnerApi.of(node), node.id(), pause);
    writers.awaitMore("before the first kill");
    return writers;
  }

  private void run(NumberedWriter writer) {
    boolean unknown = false;
    while (!over) {
      try {
        if (unknown) {
          compare(writer, owner.node(id), "after a call that was not answered");
        }
        unknown = true;
        writer.write();
        unknown = false;
      } catch (StatusException e) {
        unanswered.incrementAndGet();
        if (!over && !isUnanswered(e.getStatus())) {
          troubles.add(writer.label() + ": " + e);
        }
      } catch (Exception | AssertionError e) {
        troubles.add(writer.label() + ": " + e);
      }
      LockSupport.parkNanos(unknown ? PAUSE_WITHOUT_NODE : pause);
    }
  }

  /** A leader answers with this code if it does not know whether etcd made the change. */
  private static boolean isUnanswered(Status status) {
    return status.getCode() == Status.Code.UNAVAILABLE
        || status.getCode() == Status.Code.UNKNOWN
            && String.valueOf(status.getDescription()).contains("read the record before");
  }

  private void compare(NumberedWriter writer, Node record, String when) {
    long begun = writer.begun();
    compare(writer, writer.acknowledged(), record, begun, when);
  }

  private void compare(
      NumberedWriter writer, long acknowledged, Node record, long begun, String when) {
    long found = writer.in(record.getLabels());
    if (found < acknowledged || found > begun) {
      troubles.add(
          "%s is %d %s; acknowledged was %d, and the last one begun was %d"
              .formatted(writer.label(), found, when, acknowledged, begun));
    }
  }

  /** Returns the part of a record that neither the writers nor a node's heartbeats change. */
  private Node rest(Node record) {
    Set<String> labels =
        writers.stream().map(NumberedWriter::label).collect(Collectors.toUnmodifiableSet());
    NodeLabels.Builder others = NodeLabels.newBuilder();
    record.getLabels().getPairsList().stream()
        .filter(pair -> !labels.contains(pair.getKey()))
        .forEach(others::addPairs);
    return record.toBuilder()
        .setLabels(others)
        .clearStatus()
        .clearHealth()
        .clearTimeSinceHeartbeat()
        .build();
  }

  /** Waits until a write of each writer that begins now, or later, is acknowledged. */
  void awaitMore(String when) throws Exception {
    await(0, when);
  }

  /** Waits until each writer has written at least so many numbers. */
  void await(int writes) throws Exception {
    await(writes, "after " + writes + " others");
  }

  private void await(int writes, String when) throws Exception {
    // Resets the pauses between attempts to connect, which grow to minutes while the node is down.
    owner.reconnect();
    List<Long> begun = writers.stream().map(NumberedWriter::begun).toList();
    Await.until(
        TestNode.PATIENCE,
        "each writer's next write to be acknowledged " + when,
        () -> {
          requireNoTrouble(when);
          return IntStream.range(0, WRITERS)
              .allMatch(n -> writers.get(n).acknowledged() > begun.get(n) + writes);
        });
  }

  /** Expects each acknowledged write in the record, and the rest as at the beginning. */
  void check(String when) throws Exception {
    awaitMore(when);
    List<Long> acknowledged = writers.stream().map(NumberedWriter::acknowledged).toList();
    Node record = owner.node(id);
    for (int n = 0; n < WRITERS; n++) {
      NumberedWriter writer = writers.get(n);
      compare(writer, acknowledged.get(n), record, writer.begun(), when);
    }
    requireNoTrouble(when);
    assertEquals(rest, rest(record), () -> "the rest of the record " + when);
    assertEquals(ca, owner.clusterInfo().getCaCertificate(), () -> "the cluster's CA " + when);
  }

  private void requireNoTrouble(String when) {
    assertEquals(List.of(), List.copyOf(troubles), () -> "writes across kills, " + when);
  }

  /** Returns the number of acknowledged writes and of writes without an answer, as text. */
  String words() {
    return "%,d writes acknowledged, %,d calls not answered"
        .formatted(
            writers.stream().mapToLong(NumberedWriter::acknowledged).sum(), unanswered.get());
  }

  @Override
  public void close() {
    over = true;
    threads.forEach(Thread::interrupt);
    owner.close();
  }
}
