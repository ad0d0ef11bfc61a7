package dev.polis.etcd;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * Removes the lock of a leader that has ended, so that the next candidate need not wait for the end
 * of its lease. Closed by its maker.
 *
 * <p>Two signs are needed. The lock was not written for {@link LeaderBeats#SILENCE}, after which
 * its holder relies on it no more ({@link LeaderLease}): that makes the removal safe. And the
 * holder has ended as far as this node can see: that spares a leader that is only slow. The removal
 * is one transaction with the condition that no later write was made.
 */
final class SilentLeader implements AutoCloseable {

  /** The silence after which this candidate looks for the holder, while it waits for the rest. */
  private static final Duration SUSPICION = LeaderBeats.SILENCE.dividedBy(2);

  /** The pause after a look that found the holder, or after an attempt without an answer. */
  private static final Duration PAUSE = Duration.ofMillis(100);

  /** The limit of an attempt, which an election of etcd may leave without an answer. */
  private static final Duration ATTEMPT = Duration.ofMillis(250);

  /** Describes the first lock. */
  private sealed interface Leader {

    /**
     * The lock is written again and again.
     *
     * @param seen the time of the connection's clock at which its last write was seen
     */
    record Beating(KeyValue lock, long seen) implements Leader {}

    /** The lock hangs on its lease alone. */
    record Leased() implements Leader {}
  }

  private final EtcdClient client;
  private final KeyPrefix prefix;
  private final Predicate<KeyValue> ended;
  private final MutableValue<Leader> leader = new MutableValue<>(new Leader.Leased());
  private final Thread thread;

  /**
   * Begins to listen.
   *
   * @param ended returns whether the holder of a silent lock has ended; it may block for a while
   */
  SilentLeader(EtcdClient client, KeyPrefix prefix, Predicate<KeyValue> ended) {
    this.client = client;
    this.prefix = prefix;
    this.ended = ended;
    this.thread = Thread.ofVirtual().name("silence of " + prefix).start(this::run);
  }

  /** Gets the first lock, as seen at this moment; called at each change of the locks. */
  void hear(KeyValue first) {
    leader.update(
        now ->
            now.filter(
                    same -> same instanceof Leader.Beating(KeyValue lock, _) && lock.equals(first))
                .orElseGet(() -> describe(first)));
  }

  private Leader describe(KeyValue first) {
    return LeaderBeats.has(first, prefix)
        ? new Leader.Beating(first, client.connection().nanos())
        : new Leader.Leased();
  }

  /** Listens to no lock any more, because this candidate is the first one. */
  void hearNone() {
    leader.set(new Leader.Leased());
  }

  private void run() {
    try (Watcher<Leader> changes = leader.watch()) {
      Leader now = changes.get();
      while (true) {
        now =
            switch (now) {
              case Leader.Leased _ -> changes.get();
              case Leader.Beating beating -> listen(beating, changes);
            };
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (EtcdClosedException closed) {
      // The election has ended with its client.
      return;
    }
  }

  /** Waits for the next write of a lock, or removes the lock; returns what came next. */
  private Leader listen(Leader.Beating last, Watcher<Leader> changes) throws InterruptedException {
    Optional<Leader> next = next(changes, rest(last, SUSPICION));
    boolean gone = false;
    while (next.isEmpty()) {
      gone = gone || ended.test(last.lock());
      Duration rest = rest(last, LeaderBeats.SILENCE);
      if (gone && !rest.isPositive()) {
        remove(last.lock());
      }
      next = next(changes, rest.compareTo(PAUSE) > 0 && gone ? rest : PAUSE);
    }
    return next.get();
  }

  private Duration rest(Leader.Beating last, Duration silence) {
    return silence.minusNanos(client.connection().nanos() - last.seen());
  }

  private static Optional<Leader> next(Watcher<Leader> changes, Duration within)
      throws InterruptedException {
    try {
      return Optional.of(changes.get(within));
    } catch (TimeoutException silence) {
      return Optional.empty();
    }
  }

  private void remove(KeyValue lock) throws InterruptedException {
    try {
      client
          .kv()
          .within(ATTEMPT)
          .txn()
          .when(Compare.unchanged(lock))
          .then(Op.delete(lock.key()))
          .commit();
    } catch (EtcdClosedException closed) {
      throw closed;
    } catch (EtcdException unanswered) {
      // The next attempt has the same condition.
      return;
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
