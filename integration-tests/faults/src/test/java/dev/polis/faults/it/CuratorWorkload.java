package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs writers and watchers of one node's labels, and checks their results during faults of
 * consensus: each writer counts upwards under a label of its own, so that an older value after a
 * newer one is a lost write.
 */
final class CuratorWorkload implements AutoCloseable {

  private static final int SIZE = 8;

  /**
   * Longer than the curator waits for an election, so that the curator ends the call, not this
   * limit.
   */
  private static final int CALL_SECONDS = 60;

  /**
   * The pause of a writer after each write, in nanoseconds, except in the long form: eight writers
   * still meet each fault with writes under way, and each write is an event for eight watchers.
   */
  private static final long PAUSE = Tier.isLong() ? 0 : 5_000_000;

  private final String node;
  private final Callable<ManagedChannel> dial;
  private final List<Writer> writers = new ArrayList<>();
  private final List<Watching> watchers = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private final List<String> violations = new ArrayList<>();
  private final Map<String, AtomicLong> answers = new ConcurrentHashMap<>();
  private final AtomicLong streams = new AtomicLong();
  private volatile boolean writing = true;
  private volatile boolean watching = true;

  private CuratorWorkload(String node, Callable<ManagedChannel> dial) {
    this.node = node;
    this.dial = dial;
  }

  /**
   * Starts 8 writers and 8 watchers, each with its own connection.
   *
   * @param node the node with the labels @param dial makes a channel to the curator, with
   *     permission to write labels and watch nodes; its maker closes it
   */
  static CuratorWorkload start(String node, Callable<ManagedChannel> dial) throws Exception {
    CuratorWorkload workload = new CuratorWorkload(node, dial);
    for (int index = 0; index < SIZE; index++) {
      workload.writers.add(workload.new Writer("writer" + index, workload.dial()));
      workload.watchers.add(workload.new Watching("watcher" + index, workload.dial()));
    }
    // Starts the threads after all writers exist, since a watcher searches for the writer of each
    // value.
    for (Writer writer : workload.writers) {
      workload.threads.add(Thread.ofVirtual().name(writer.label).start(writer::run));
    }
    for (Watching watcher : workload.watchers) {
      workload.threads.add(Thread.ofVirtual().name(watcher.name).start(watcher::run));
    }
    return workload;
  }

  /** Dials again while the curator has no leader, which is needed to make an owner. */
  private ManagedChannel dial() throws Exception {
    AtomicReference<ManagedChannel> channel = new AtomicReference<>();
    Await.until(
        FaultNode.PATIENCE,
        "a leader of the curator to dial",
        () -> {
          try {
            channel.set(dial.call());
            return true;
          } catch (StatusException failure) {
            if (failure.getStatus().getCode() != Status.Code.UNAVAILABLE) {
              throw failure;
            }
            return false;
          }
        });
    return channel.get();
  }

  /** Waits until each writer has written, and each watcher has received, a newer value than now. */
  void awaitProgress(Duration within, String after) throws Exception {
    Map<String, Long> then = new TreeMap<>();
    writers.forEach(writer -> then.put(writer.label, writer.acknowledged));
    Await.until(
        within,
        "all writers and watchers to get on after " + after,
        () ->
            writers.stream().allMatch(writer -> writer.acknowledged > then.get(writer.label))
                && watchers.stream().allMatch(watcher -> watcher.isBeyond(then)));
  }

  /** Returns the number of failed calls and streams so far. */
  long failures() {
    return answers.values().stream().mapToLong(AtomicLong::get).sum();
  }

  /** Stops the writers, waits until all watchers have received the same values, and compares. */
  void verify(Duration within) throws Exception {
    writing = false;
    Map<String, Long> last = new TreeMap<>();
    Await.until(
        within, "the writers to end", () -> writers.stream().allMatch(writer -> writer.ended));
    ManagedChannel channel = dial();
    Await.until(
        within,
        "the final state to be readable",
        () -> {
          try {
            last.clear();
            last.putAll(read(channel));
            return true;
          } catch (StatusException notYet) {
            return false;
          }
        });
    writers.forEach(writer -> writer.check(last));
    Await.until(
        within,
        "all watchers to have heard " + last,
        () -> watchers.stream().allMatch(watcher -> watcher.hasHeard(last)));
    synchronized (violations) {
      assertEquals(List.of(), violations);
    }
  }

  private void violated(String format, Object... arguments) {
    synchronized (violations) {
      violations.add(format.formatted(arguments));
    }
  }

  private void count(Status.Code code) {
    answers.computeIfAbsent(code.name(), name -> new AtomicLong()).incrementAndGet();
  }

  private Map<String, Long> read(ManagedChannel channel)
      throws StatusException, InterruptedException {
    var nodes =
        ManagementGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
            .getNodes(GetNodesRequest.getDefaultInstance());
    Map<String, Long> found = new TreeMap<>();
    Node next = nodes.read();
    while (next != null) {
      if (next.getId().equals(node)) {
        found = counters(next.getLabels());
      }
      next = nodes.read();
    }
    return found;
  }

  private static Map<String, Long> counters(NodeLabels labels) {
    Map<String, Long> found = new TreeMap<>();
    labels.getPairsList().stream()
        .filter(pair -> pair.getKey().startsWith("writer"))
        .forEach(pair -> found.put(pair.getKey(), Long.parseLong(pair.getValue())));
    return found;
  }

  /** Returns all counts, as text. */
  @Override
  public String toString() {
    return "%d writes acknowledged and read back, %d with unknown outcome, %d refused; %d watches, events by watcher %s; failures by code %s"
        .formatted(
            writers.stream().mapToLong(writer -> writer.writes).sum(),
            writers.stream().mapToLong(writer -> writer.unknown).sum(),
            writers.stream().mapToLong(writer -> writer.refused.size()).sum(),
            streams.get(),
            watchers.stream().map(watcher -> watcher.events).toList(),
            new TreeMap<>(answers));
  }

  @Override
  public void close() {
    writing = false;
    watching = false;
    threads.forEach(Thread::interrupt);
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }

  /** Counts upwards under one label. */
  private final class Writer {
    private final String label;
    private final ManagedChannel channel;
    private final ConcurrentSkipListSet<Long> refused = new ConcurrentSkipListSet<>();
    private volatile long attempted;
    private volatile long acknowledged;
    private volatile long writes;
    private volatile long unknown;
    private volatile boolean ended;

    Writer(String label, ManagedChannel channel) {
      this.label = label;
      this.channel = channel;
    }

    void run() {
      try {
        while (writing) {
          write(attempted + 1);
          LockSupport.parkNanos(PAUSE);
        }
      } catch (InterruptedException hurried) {
        Thread.currentThread().interrupt();
      } finally {
        ended = true;
      }
    }

    private void write(long value) throws InterruptedException {
      attempted = value;
      try {
        ManagementGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
            .updateNodeLabels(request(value));
        acknowledged = value;
        writes++;
      } catch (StatusException failure) {
        failed(value, failure.getStatus());
        return;
      }
      readBack(value);
    }

    private UpdateNodeLabelsRequest request(long value) {
      return UpdateNodeLabelsRequest.newBuilder()
          .setId(node)
          .addUpsert(
              UpdateNodeLabelsRequest.Pair.newBuilder()
                  .setKey(label)
                  .setValue(Long.toString(value)))
          .build();
    }

    private void failed(long value, Status status) {
      count(status.getCode());
      switch (status.getCode()) {
        case UNAVAILABLE, ABORTED -> refusedOrUnknown(value, status);
        case UNKNOWN, DEADLINE_EXCEEDED -> unknown++;
        case CANCELLED -> {
          if (writing) {
            violated("%s=%d was cancelled without a cause: %s", label, value, status);
          }
        }
        default -> violated("%s=%d ended with %s", label, value, status);
      }
    }

    /**
     * Counts a write as refused if the curator's message says that nothing was applied; after a
     * broken connection the outcome is unknown.
     */
    private void refusedOrUnknown(long value, Status status) {
      String words = String.valueOf(status.getDescription());
      if (words.contains("Nothing was applied")
          || words.contains("does not lead")
          || words.contains("lost leadership")
          || status.getCode() == Status.Code.ABORTED) {
        refused.add(value);
      } else {
        unknown++;
      }
    }

    private void readBack(long value) throws InterruptedException {
      try {
        long found = read(channel).getOrDefault(label, 0L);
        if (found != value) {
          violated("%s=%d was acknowledged, and read as %d", label, value, found);
        }
      } catch (StatusException failure) {
        count(failure.getStatus().getCode());
        if (failure.getStatus().getCode() == Status.Code.INTERNAL) {
          violated("a read ended with %s", failure.getStatus());
        }
      }
    }

    void check(Map<String, Long> last) {
      long found = last.getOrDefault(label, 0L);
      if (found < acknowledged || found > attempted) {
        violated(
            "%s is %d at the end: %d was acknowledged, %d attempted last",
            label, found, acknowledged, attempted);
      }
      see("the end", found);
    }

    void see(String who, long value) {
      if (value > attempted || refused.contains(value)) {
        violated("%s saw %s=%d, which was never written or was refused", who, label, value);
      }
    }
  }

  /** Follows the node through all ends of its streams. */
  private final class Watching {
    private final String name;
    private final ManagedChannel channel;
    private final Map<String, Long> heard = new ConcurrentHashMap<>();
    private volatile long events;

    Watching(String name, ManagedChannel channel) {
      this.name = name;
      this.channel = channel;
    }

    void run() {
      while (watching) {
        try {
          follow();
        } catch (StatusException ended) {
          if (watching) {
            ended(ended.getStatus());
          }
        } catch (InterruptedException hurried) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }

    private void follow() throws StatusException, InterruptedException {
      streams.incrementAndGet();
      var call =
          CuratorGrpc.newBlockingV2Stub(channel)
              .watch(
                  WatchRequest.newBuilder()
                      .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                      .build());
      try {
        WatchEvent event = call.read();
        while (event != null) {
          events++;
          event.getNodesList().stream()
              .filter(each -> each.getId().equals(node))
              .forEach(each -> counters(each.getLabels()).forEach(this::hear));
          event = call.read();
        }
      } finally {
        call.cancel("this watcher leaves", null);
      }
    }

    private void ended(Status status) {
      count(status.getCode());
      if (status.getCode() != Status.Code.UNAVAILABLE) {
        violated("%s: a stream ended with %s", name, status);
      }
    }

    private void hear(String label, long value) {
      Long before = heard.put(label, value);
      if (before != null && before > value) {
        violated("%s heard %s=%d after %d", name, label, value, before);
      }
      writers.stream()
          .filter(writer -> writer.label.equals(label))
          .forEach(writer -> writer.see(name, value));
    }

    boolean isBeyond(Map<String, Long> then) {
      return then.entrySet().stream()
          .allMatch(entry -> heard.getOrDefault(entry.getKey(), 0L) > entry.getValue());
    }

    boolean hasHeard(Map<String, Long> last) {
      return heard.equals(last);
    }
  }
}
