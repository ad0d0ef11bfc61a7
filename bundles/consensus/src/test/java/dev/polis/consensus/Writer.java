package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.EtcdUnavailableException;
import dev.polis.fixtures.Await;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Writes to one member repeatedly, with the access that its organ handed out at the begin. */
final class Writer implements AutoCloseable {
  private static final Duration PAUSE = Duration.ofMillis(5);

  /**
   * The longest time of a write: etcd's own limit for one that the leader dropped, five seconds and
   * two elections. A start of etcd, for which a write waits, takes three seconds here.
   */
  private static final Duration LONGEST = Duration.ofSeconds(6);

  private final EtcdClient client;
  private final String key;
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong written = new AtomicLong();
  private final AtomicLong repeated = new AtomicLong();
  private final AtomicLong longest = new AtomicLong();
  private final AtomicReference<String> failure = new AtomicReference<>("");
  private final AtomicReference<String> unanswered = new AtomicReference<>("");
  private final Thread thread;
  private volatile boolean stopped;
  private long last;

  Writer(Instance member) throws InterruptedException {
    this(member, "");
  }

  /**
   * @param name tells several writers of one member apart
   */
  Writer(Instance member, String name) throws InterruptedException {
    client = EtcdClient.connect(member.consensus.access("curator"));
    key = "/written-" + member.consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId() + name;
    thread = Thread.ofVirtual().start(this::run);
  }

  /** Works while writers write. */
  @FunctionalInterface
  interface Work {
    void under(List<Writer> writers) throws Exception;
  }

  /**
   * Works under writers, of which none may lose a write; returns them when they have ended.
   *
   * @param each the number of writers of each member
   */
  static List<Writer> around(List<Instance> members, int each, Work work) throws Exception {
    List<Writer> writers = new ArrayList<>();
    try {
      for (int n = 0; n < each; n++) {
        for (Instance member : members) {
          writers.add(new Writer(member, "-" + n));
        }
      }
      awaitMore(writers);
      work.under(writers);
      awaitMore(writers);
    } finally {
      for (Writer writer : writers) {
        writer.close();
      }
    }
    for (Writer writer : writers) {
      writer.check();
      writer.requireLast();
    }
    return writers;
  }

  static void awaitMore(List<Writer> writers) throws Exception {
    for (Writer each : writers) {
      each.awaitMore();
    }
  }

  private void run() {
    try {
      while (!stopped) {
        write(begun.incrementAndGet());
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    } catch (InterruptedException | RuntimeException refused) {
      failure.set(refused.toString());
    }
  }

  /** Writes a number, and repeats that while its outcome is open, as a caller of a node does. */
  private void write(long number) throws InterruptedException {
    long began = System.nanoTime();
    byte[] value = Long.toString(number).getBytes(StandardCharsets.US_ASCII);
    for (boolean open = true; open; ) {
      try {
        client.kv().put(key, value);
        open = false;
      } catch (EtcdOutcomeUnknownException | EtcdUnavailableException refused) {
        repeated.incrementAndGet();
        unanswered.set(refused.toString());
      }
    }
    longest.accumulateAndGet(System.nanoTime() - began, Math::max);
    written.set(number);
  }

  /** Requires the last acknowledged number in etcd; a lost write would leave an earlier one. */
  void requireLast() {
    assertEquals(written.get(), last, "an acknowledged write was lost");
  }

  /** Requires that each write was answered at its first attempt, within {@link #LONGEST}. */
  void requireAnswers() {
    requireAnswers(LONGEST);
  }

  /** Requires that each write was answered at its first attempt, within this time. */
  void requireAnswers(Duration within) {
    assertEquals("", unanswered.get(), "%d writes had no answer".formatted(repeated.get()));
    Duration most = Duration.ofNanos(longest.get());
    assertTrue(most.compareTo(within) < 0, () -> "a write took %s".formatted(most));
  }

  void awaitMore() throws Exception {
    long before = written.get();
    Await.until(
        ConsensusHarness.PATIENCE,
        "more writes",
        () -> {
          check();
          return written.get() > before;
        });
  }

  void check() {
    assertEquals("", failure.get(), "a write failed beside %d others".formatted(written.get()));
  }

  @Override
  public void close() {
    stopped = true;
    try {
      Await.end(thread);
      last = Long.parseLong(client.kv().get(key).orElseThrow().text());
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
    client.close();
    System.out.printf(
        "%d writes, %d repeated, the longest took %d ms%n",
        written.get(), repeated.get(), Duration.ofNanos(longest.get()).toMillis());
  }
}
