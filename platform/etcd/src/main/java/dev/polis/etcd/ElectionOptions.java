package dev.polis.etcd;

import java.time.Duration;
import java.util.function.Predicate;

/**
 * Holds the options of a candidate.
 *
 * @param prefix directory of the locks; candidates of one election share it
 * @param value the value that other candidates read when this one leads
 * @param ttl the time for which candidates wait for a dead leader
 * @param ownPreviousLife recognises a lock that an earlier process of this candidate left behind,
 *     which is removed at once; it must match no other lock
 * @param entry the way to enter the queue
 * @param holderEnded returns whether the holder of a lock has ended, process or machine, as far as
 *     this node can see; it may block for less than half a second. Then its lock is removed before
 *     its lease ends, once it was silent for a second
 */
public record ElectionOptions(
    KeyPrefix prefix,
    byte[] value,
    Duration ttl,
    Predicate<KeyValue> ownPreviousLife,
    Entry entry,
    Predicate<KeyValue> holderEnded) {

  /** Selects the way in which a candidate enters the queue of locks. */
  public sealed interface Entry {}

  /** Enters at the end, with a new lock. */
  public record AtTheEnd() implements Entry {}

  /** Enters in the place that a predecessor in the same process gave up. */
  public record TakeUp(ElectionHandOver place) implements Entry {}

  /**
   * Reads the locks, and enters in a predecessor's place once {@link Election#takeUp} gives it,
   * without another read.
   */
  public record StandBy() implements Entry {}

  /**
   * The default time for a dead leader: long enough for an etcd election and a stalled disk, short
   * enough for a waiting operator.
   */
  public static final Duration DEFAULT_TTL = Duration.ofSeconds(10);

  /** Returns the default options: a new lock, and no earlier lock of its own. */
  public static ElectionOptions of(KeyPrefix prefix, byte[] value) {
    return new ElectionOptions(
        prefix, value, DEFAULT_TTL, lock -> false, new AtTheEnd(), lock -> false);
  }

  /** Returns the same options with another time for a dead leader. */
  public ElectionOptions withTtl(Duration time) {
    return new ElectionOptions(prefix, value, time, ownPreviousLife, entry, holderEnded);
  }

  /** Returns the same options with a test for locks of an earlier process. */
  public ElectionOptions removing(Predicate<KeyValue> stale) {
    return new ElectionOptions(prefix, value, ttl, stale, entry, holderEnded);
  }

  /** Returns the same options with a test whether the holder of a silent lock has ended. */
  public ElectionOptions replacing(Predicate<KeyValue> ended) {
    return new ElectionOptions(prefix, value, ttl, ownPreviousLife, entry, ended);
  }

  /** Returns the same options, on standby for a predecessor's place. */
  public ElectionOptions standingBy() {
    return new ElectionOptions(prefix, value, ttl, ownPreviousLife, new StandBy(), holderEnded);
  }

  /** Returns the same options, with a predecessor's place. */
  public ElectionOptions takingUp(ElectionHandOver place) {
    return new ElectionOptions(prefix, value, ttl, ownPreviousLife, new TakeUp(place), holderEnded);
  }
}
