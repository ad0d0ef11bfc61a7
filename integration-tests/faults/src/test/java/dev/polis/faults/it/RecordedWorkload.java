package dev.polis.faults.it;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.fixtures.history.History;
import dev.polis.fixtures.history.History.Outcome;
import dev.polis.fixtures.history.HistoryRecorder;
import dev.polis.rpc.RpcClients;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * Writes, reads and watches the labels of two nodes over several curators at once, and records the
 * history: writes and reads of both nodes together, and watches of each node.
 *
 * <p>Writers and half of the watchers follow the leader. Readers and the other watchers each stay
 * with one curator, leader or not, so that they also call one that has lost its leadership without
 * noticing.
 */
final class RecordedWorkload implements AutoCloseable {

  private static final int WRITERS = 4;
  private static final int READERS = 4;
  private static final int WATCHERS = 4;
  private static final List<String> LABELS = List.of("f0", "f1", "f2");

  /** Short, since a reader that waits for a follower finds no stale reads. */
  private static final long CALL_MILLIS = 700;

  /** Long, since these calls wait at a stopped JVM until it continues. */
  private static final long PATIENT_MILLIS = 10_000;

  private static final int PATIENT_READERS = 64;

  /** The time after which a watch is cancelled, also at a curator that knows no leader. */
  private static final long WATCH_MILLIS = 2_500;

  /** The pause after an immediate refusal, which leaves processor time to others. */
  private static final long BREATH_MILLIS = 20;

  /**
   * The pause after each call that was answered, except in the long form: a lease of seconds is
   * still full of calls, and the history less large to check.
   */
  private static final long PAUSE_MILLIS = Tier.isLong() ? 0 : 5;

  /**
   * The events of a short watch: a new watch is an observation of its own, and a few events show
   * that it works.
   */
  private static final int EVENTS_OF_A_SHORT_WATCH = 12;

  private final List<String> nodes;
  private final RpcClients clients;
  private final List<InetSocketAddress> curators;
  private final HistoryRecorder both = new HistoryRecorder(Map.of());
  // One for each node.
  private final List<HistoryRecorder> each;
  private final List<Thread> threads = new ArrayList<>();
  private final List<Follower> followers = new ArrayList<>();
  private final List<ManagedChannel> channels = new CopyOnWriteArrayList<>();
  // The readers' connections, by curator.
  private final List<List<ManagedChannel>> connected;
  private final AtomicInteger values = new AtomicInteger();
  private final AtomicInteger leader = new AtomicInteger();
  private final AtomicLongArray writes;
  private final AtomicLongArray reads;
  private final AtomicLong writing = new AtomicLong(WRITERS);
  private final AtomicReference<Phase> phase = new AtomicReference<>(new Phase("the start"));
  private final List<Phase> phases = new CopyOnWriteArrayList<>(List.of(phase.get()));
  private final Map<String, AtomicLong> answers = new ConcurrentHashMap<>();
  private final CountDownLatch noMoreWrites = new CountDownLatch(1);
  private final CountDownLatch over = new CountDownLatch(1);

  private RecordedWorkload(
      List<String> nodes, RpcClients clients, List<InetSocketAddress> curators) {
    this.nodes = List.copyOf(nodes);
    this.each = nodes.stream().map(node -> new HistoryRecorder(Map.of())).toList();
    this.clients = clients;
    this.curators = List.copyOf(curators);
    this.connected =
        curators.stream().<List<ManagedChannel>>map(each -> new ArrayList<>()).toList();
    this.writes = new AtomicLongArray(curators.size());
    this.reads = new AtomicLongArray(curators.size());
  }

  /**
   * Starts writers, readers and watchers.
   *
   * @param nodes two nodes without labels, whose labels only this workload writes
   */
  static RecordedWorkload start(
      List<String> nodes, RpcClients clients, List<InetSocketAddress> curators) {
    RecordedWorkload workload = new RecordedWorkload(nodes, clients, curators);
    for (int n = 0; n < WRITERS; n++) {
      String name = "writer" + n;
      List<ManagedChannel> to = workload.dial();
      workload.begin(name, () -> workload.write(name, to));
    }
    for (int n = 0; n < READERS; n++) {
      int curator = n % curators.size();
      String name = "reader%d of curator %d".formatted(n, curator);
      List<ManagedChannel> to = workload.dial();
      workload.connected.get(curator).add(to.get(curator));
      workload.begin(name, () -> workload.read(name, curator, to));
    }
    for (int n = 0; n < WATCHERS; n++) {
      Follower follower = workload.new Follower(n, workload.dial());
      workload.followers.add(follower);
      workload.begin(follower.name, follower::run);
    }
    return workload;
  }

  private List<ManagedChannel> dial() {
    List<ManagedChannel> to = curators.stream().map(clients::dial).toList();
    channels.addAll(to);
    return to;
  }

  private interface Work {
    void run() throws InterruptedException;
  }

  private void begin(String name, Work work) {
    threads.add(
        Thread.ofVirtual()
            .name(name)
            .start(
                () -> {
                  try {
                    work.run();
                  } catch (InterruptedException hurried) {
                    Thread.currentThread().interrupt();
                  }
                }));
  }

  // ---- progress

  /** Returns the curator that acknowledged the latest write. */
  int leader() {
    return leader.get();
  }

  /** Returns the number of writes that a curator has acknowledged. */
  long writes(int curator) {
    return writes.get(curator);
  }

  /** Returns the number of all acknowledged writes. */
  long writes() {
    return sum(writes);
  }

  private static long sum(AtomicLongArray counts) {
    long sum = 0;
    for (int index = 0; index < counts.length(); index++) {
      sum += counts.get(index);
    }
    return sum;
  }

  /** Returns the number of writes so far that were not acknowledged. */
  long failedWrites() {
    return phases.stream()
        .mapToLong(phase -> phase.count(Set.of(Outcome.REFUSED, Outcome.UNKNOWN)))
        .sum();
  }

  /** Waits for a number of further acknowledged writes, and for reads. */
  void awaitProgress(int more, String after) throws Exception {
    long written = writes() + more;
    long read = sum(reads) + more;
    Await.until(
        FaultNode.PATIENCE,
        more + " writes and reads after " + after + "; so far " + this,
        () -> writes() >= written && sum(reads) >= read);
  }

  /**
   * Begins reads at a stopped curator, which are the first calls that it gets when it continues,
   * perhaps before it notices the stop. Each begins after all earlier writes.
   */
  void queueReads(int curator) {
    // A stopped JVM completes no handshakes, so these reads use open connections.
    List<ManagedChannel> to = connected.get(curator);
    for (int n = 0; n < PATIENT_READERS; n++) {
      ManagedChannel channel = to.get(n % to.size());
      begin("patient reader " + n, () -> readPatiently(curator, channel));
    }
  }

  private void readPatiently(int curator, ManagedChannel channel) throws InterruptedException {
    try {
      readOnce("patient reader of curator " + curator, channel, PATIENT_MILLIS);
      reads.incrementAndGet(curator);
    } catch (StatusException failure) {
      failed(failure, channel);
    }
  }

  /**
   * Counts the outcomes of the writes that were begun in one part of a workload, once they have
   * ended.
   */
  static final class Phase {
    private final String name;
    private final long began = System.nanoTime();
    private volatile long ended = Long.MAX_VALUE;
    private final Map<Outcome, AtomicLong> outcomes = new EnumMap<>(Outcome.class);

    private Phase(String name) {
      this.name = name;
      for (Outcome outcome : Outcome.values()) {
        outcomes.put(outcome, new AtomicLong());
      }
    }

    private void count(Outcome outcome) {
      outcomes.get(outcome).incrementAndGet();
    }

    private long count(Set<Outcome> wanted) {
      return wanted.stream().mapToLong(outcome -> outcomes.get(outcome).get()).sum();
    }

    /** Returns the number of writes whose outcome is unknown to their writer. */
    long unknown() {
      return count(Set.of(Outcome.UNKNOWN));
    }

    /** Returns their share of all writes that reached a leader; the others are refusals. */
    double unknownShare() {
      return (double) unknown() / Math.max(1, count(Set.of(Outcome.UNKNOWN, Outcome.ACKNOWLEDGED)));
    }

    /**
     * Returns the most unknown outcomes of all writers while each of them costs its writer the time
     * of a call; one more each, since a connection that breaks answers at once.
     */
    long mostUnknown() {
      long millis = TimeUnit.NANOSECONDS.toMillis(Math.min(ended, System.nanoTime()) - began);
      return WRITERS * (millis / CALL_MILLIS + 2);
    }

    @Override
    public String toString() {
      return "%s: %d ms, %s"
          .formatted(
              name,
              TimeUnit.NANOSECONDS.toMillis(Math.min(ended, System.nanoTime()) - began),
              outcomes);
    }
  }

  /** Ends the present phase, and counts the writes from now on in a new one. */
  void begin(String name) {
    Phase next = new Phase(name);
    phases.add(next);
    phase.getAndSet(next).ended = System.nanoTime();
  }

  /** Returns all phases, the newest last. */
  List<Phase> phases() {
    return List.copyOf(phases);
  }

  /** Stops the writers, waits until all watchers have the last state, and returns the histories. */
  List<History> settle() throws Exception {
    noMoreWrites.countDown();
    Await.until(FaultNode.PATIENCE, "the writers to end", () -> writing.get() == 0);
    List<ManagedChannel> to = dial();
    Map<String, String> last = new TreeMap<>();
    Await.until(
        FaultNode.PATIENCE,
        "the last state to be readable",
        () -> {
          try {
            last.clear();
            last.putAll(readOnce("the last reader", to.get(leader.get())));
            return true;
          } catch (StatusException notYet) {
            leader.set((leader.get() + 1) % curators.size());
            return false;
          }
        });
    for (Follower follower : followers) {
      if (follower.followsTheLeader()) {
        Await.until(
            FaultNode.PATIENCE,
            follower.name + " to have heard " + last,
            () -> follower.knows(of(follower.node, last)));
      }
    }
    return Stream.concat(Stream.of(both), each.stream()).map(HistoryRecorder::history).toList();
  }

  @Override
  public String toString() {
    return "%d writes acknowledged, %d refused, %d of unknown outcome; %d reads; %d watches, %d events; by curator %s; failures %s; %s"
        .formatted(
            both.count(Outcome.ACKNOWLEDGED),
            both.count(Outcome.REFUSED),
            both.count(Outcome.UNKNOWN),
            sum(reads),
            followers.stream().mapToLong(follower -> follower.watches.get()).sum(),
            followers.stream().mapToLong(follower -> follower.events.get()).sum(),
            writes,
            new TreeMap<>(answers),
            phases);
  }

  @Override
  public void close() {
    noMoreWrites.countDown();
    over.countDown();
    threads.forEach(Thread::interrupt);
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
    channels.forEach(ManagedChannel::shutdownNow);
  }

  // ---- writers

  private void write(String name, List<ManagedChannel> to) throws InterruptedException {
    int curator = leader.get();
    try {
      for (int turn = 0; noMoreWrites.getCount() > 0; turn++) {
        String label = LABELS.get(turn % LABELS.size());
        int node = turn / LABELS.size() % nodes.size();
        if (writeOnce(name, node, label, curator, to.get(curator))) {
          noMoreWrites.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        } else {
          curator = (curator + 1) % curators.size();
          noMoreWrites.await(BREATH_MILLIS, TimeUnit.MILLISECONDS);
        }
      }
    } finally {
      writing.decrementAndGet();
    }
  }

  private boolean writeOnce(
      String name, int node, String label, int curator, ManagedChannel channel)
      throws InterruptedException {
    String value = "v" + values.incrementAndGet();
    String field = field(node, label);
    Phase begun = phase.get();
    List<HistoryRecorder.PendingWrite> write =
        List.of(both.write(name, field, value), each.get(node).write(name, field, value));
    try {
      ManagementGrpc.newBlockingV2Stub(channel)
          .withDeadlineAfter(CALL_MILLIS, TimeUnit.MILLISECONDS)
          .updateNodeLabels(
              UpdateNodeLabelsRequest.newBuilder()
                  .setId(nodes.get(node))
                  .addUpsert(
                      UpdateNodeLabelsRequest.Pair.newBuilder().setKey(label).setValue(value))
                  .build());
      write.forEach(HistoryRecorder.PendingWrite::acknowledged);
      begun.count(Outcome.ACKNOWLEDGED);
      writes.incrementAndGet(curator);
      leader.set(curator);
      return true;
    } catch (StatusException failure) {
      if (isRefusal(failure.getStatus())) {
        write.forEach(HistoryRecorder.PendingWrite::refused);
        begun.count(Outcome.REFUSED);
      } else {
        begun.count(Outcome.UNKNOWN);
      }
      failed(failure, channel);
      return false;
    }
  }

  /**
   * Counts a write as refused if the curator's message says that nothing was applied; after a
   * broken connection the outcome is unknown.
   */
  private static boolean isRefusal(Status status) {
    String words = String.valueOf(status.getDescription());
    return Stream.of("Nothing was applied", "does not lead", "lost leadership")
        .anyMatch(words::contains);
  }

  private void failed(StatusException failure, ManagedChannel channel) {
    answers
        .computeIfAbsent(failure.getStatus().getCode().name(), code -> new AtomicLong())
        .incrementAndGet();
    channel.resetConnectBackoff();
  }

  // ---- readers

  private void read(String name, int curator, List<ManagedChannel> to) throws InterruptedException {
    while (over.getCount() > 0) {
      try {
        readOnce(name, to.get(curator));
        reads.incrementAndGet(curator);
        over.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
      } catch (StatusException failure) {
        failed(failure, to.get(curator));
        over.await(BREATH_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
  }

  private Map<String, String> readOnce(String name, ManagedChannel channel)
      throws StatusException, InterruptedException {
    return readOnce(name, channel, CALL_MILLIS);
  }

  private Map<String, String> readOnce(String name, ManagedChannel channel, long millis)
      throws StatusException, InterruptedException {
    HistoryRecorder.PendingRead read = both.read(name);
    List<HistoryRecorder.PendingRead> parts =
        each.stream().map(recorder -> recorder.read(name)).toList();
    Map<String, String> found = new HashMap<>();
    Set<String> missing = new HashSet<>(nodes);
    BlockingClientCall<?, Node> answer =
        ManagementGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(millis, TimeUnit.MILLISECONDS)
            .getNodes(GetNodesRequest.getDefaultInstance());
    try {
      for (Node next = answer.read(); next != null && !missing.isEmpty(); next = answer.read()) {
        if (missing.remove(next.getId())) {
          found.putAll(labels(nodes.indexOf(next.getId()), next.getLabels()));
        }
      }
    } finally {
      answer.cancel("the records were found", null);
    }
    if (!missing.isEmpty()) {
      throw new AssertionError("the records of " + missing + " are gone");
    }
    read.found(found);
    for (int node = 0; node < nodes.size(); node++) {
      parts.get(node).found(of(node, found));
    }
    return found;
  }

  private static String field(int node, String label) {
    return node + "/" + label;
  }

  private static Map<String, String> labels(int node, NodeLabels labels) {
    Map<String, String> found = new HashMap<>();
    labels.getPairsList().forEach(pair -> found.put(field(node, pair.getKey()), pair.getValue()));
    return found;
  }

  /** Returns the labels of one node, out of those of both. */
  private static Map<String, String> of(int node, Map<String, String> found) {
    Map<String, String> part = new HashMap<>(found);
    part.keySet().removeIf(field -> !field.startsWith(field(node, "")));
    return part;
  }

  // ---- watchers

  /**
   * Watches a node through all ends of its streams; some watches last as long as possible, others
   * end early.
   */
  private final class Follower {
    private final int number;
    private final String name;
    private final List<ManagedChannel> to;
    private final AtomicLong watches = new AtomicLong();
    private final AtomicLong events = new AtomicLong();
    private final int node;
    private volatile HistoryRecorder.OpenWatch current;

    Follower(int number, List<ManagedChannel> to) {
      this.number = number;
      this.name = "watcher" + number;
      this.to = to;
      this.node = number / 2 % nodes.size();
      this.current = each.get(node).watch("nobody");
    }

    boolean followsTheLeader() {
      return number % 2 == 0;
    }

    private int curator() {
      return followsTheLeader() ? leader.get() : (number / 2 + 1) % curators.size();
    }

    void run() throws InterruptedException {
      while (over.getCount() > 0) {
        ManagedChannel channel = to.get(curator());
        try {
          follow(channel);
        } catch (StatusException ended) {
          failed(ended, channel);
          over.await(BREATH_MILLIS, TimeUnit.MILLISECONDS);
        }
      }
    }

    private void follow(ManagedChannel channel) throws StatusException, InterruptedException {
      HistoryRecorder.OpenWatch watch = each.get(node).watch(name);
      BlockingClientCall<?, WatchEvent> call = open(channel);
      current = watch;
      try {
        int seen = 0;
        for (WatchEvent event = first(call); event != null && !isOver(seen); event = call.read()) {
          for (dev.polis.wire.curator.Node seenNode : event.getNodesList()) {
            watch.saw(labels(node, seenNode.getLabels()));
            events.incrementAndGet();
            seen++;
          }
        }
      } finally {
        watch.ended();
        call.cancel("this watcher leaves", null);
      }
    }

    private BlockingClientCall<?, WatchEvent> open(ManagedChannel channel) {
      watches.incrementAndGet();
      WatchRequest request =
          WatchRequest.newBuilder()
              .setNodeInCluster(WatchRequest.NodeInCluster.newBuilder().setNodeId(nodes.get(node)))
              .build();
      CuratorGrpc.CuratorBlockingV2Stub stub = CuratorGrpc.newBlockingV2Stub(channel);
      return (followsTheLeader()
              ? stub
              : stub.withDeadlineAfter(WATCH_MILLIS, TimeUnit.MILLISECONDS))
          .watch(request);
    }

    /** A curator that knows no leader answers late, and another one may lead at that time. */
    private WatchEvent first(BlockingClientCall<?, WatchEvent> call)
        throws StatusException, InterruptedException {
      try {
        return call.read(CALL_MILLIS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException silent) {
        throw new StatusException(Status.DEADLINE_EXCEEDED.withDescription("no first event"));
      }
    }

    private boolean isOver(int seen) {
      return over.getCount() == 0 || !followsTheLeader() && seen >= EVENTS_OF_A_SHORT_WATCH;
    }

    boolean knows(Map<String, String> last) {
      HistoryRecorder.OpenWatch watch = current;
      if (watch.isOpen() && watch.last().equals(last)) {
        watch.followedToTheEnd();
        return true;
      }
      return false;
    }
  }
}
