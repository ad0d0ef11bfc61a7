package dev.polis.etcd;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * Writes the lock of a leader again in each interval, and at once when its value changes. Each
 * write is a beat, which shows the other candidates that the leader lives. Closed by its maker.
 */
final class LeaderBeats implements AutoCloseable {

  /**
   * The time without a beat after which another candidate may remove the lock. Etcd elects its own
   * leader in about the same time, so a shorter one would gain nothing.
   */
  static final Duration SILENCE = Duration.ofSeconds(1);

  private static final int PER_SILENCE = 3;
  private static final Duration INTERVAL = SILENCE.dividedBy(PER_SILENCE);

  private final EtcdClient client;
  private final String lockKey;
  private final long createRevision;
  private final Lease lease;
  private final Watcher<byte[]> values;
  private final Thread thread;

  /**
   * Begins to write.
   *
   * @param values the value of the lock
   */
  LeaderBeats(
      EtcdClient client,
      String lockKey,
      long createRevision,
      Lease lease,
      MutableValue<byte[]> values) {
    this.client = client;
    this.lockKey = lockKey;
    this.createRevision = createRevision;
    this.lease = lease;
    this.values = values.watch();
    this.thread = Thread.ofVirtual().name("beats of " + lockKey).start(this::run);
  }

  /** Returns whether a lock was written again by its holder, so that its beats count. */
  static boolean has(KeyValue lock, KeyPrefix prefix) {
    return lock.modRevision() > lock.createRevision()
        && lock.key().equals(prefix.key(Long.toHexString(lock.lease())));
  }

  private void run() {
    try {
      byte[] value = values.get();
      while (true) {
        long sent = System.nanoTime();
        if (!beat(client.kv().within(SILENCE), lockKey, createRevision, value, lease)) {
          return; // the watch of the locks shows it too, and ends the leadership
        }
        value = next(INTERVAL.minusNanos(System.nanoTime() - sent)).orElse(value);
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (EtcdClosedException closed) {
      // The election has ended with its client.
      return;
    }
  }

  private Optional<byte[]> next(Duration within) throws InterruptedException {
    try {
      return Optional.of(values.get(within));
    } catch (TimeoutException unchanged) {
      return Optional.empty();
    }
  }

  /**
   * Writes a lock again if it is still there. Without an answer, the certainty of the holder ends
   * by itself.
   *
   * @return false if the lock is gone
   */
  static boolean beat(KeyValues kv, String key, long createRevision, byte[] value, Lease lease)
      throws InterruptedException {
    LeaderLease holder = lease.leaderLease();
    holder.relyOnBeats();
    Certainty.Request beat = holder.beat();
    try {
      boolean written =
          kv.txn()
              .when(Compare.createRevision(key).is(createRevision))
              .then(Op.put(key, value, lease))
              .commit()
              .succeeded();
      if (written) {
        holder.beatAnswered(beat);
      } else {
        holder.end();
      }
      return written;
    } catch (EtcdClosedException closed) {
      throw closed;
    } catch (EtcdException unanswered) {
      return true;
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
