package dev.polis.etcd;

import java.time.Duration;
import java.util.function.Predicate;

/**
 * Holds the options of a candidate.
 *
 * @param prefix directory of the locks; candidates of one election share it
 * @param value what others see of this candidate when it leads
 * @param ttl how long a dead leader is waited for
 * @param ownPreviousLife recognises a lock that an earlier process of this candidate left behind,
 *     which is removed instead of waited for; nothing else may match
 * @param entry how to enter the queue
 */
public record ElectionOptions(
    KeyPrefix prefix,
    byte[] value,
    Duration ttl,
    Predicate<KeyValue> ownPreviousLife,
    Entry entry) {

  /** Says how a candidate enters the queue of locks. */
  public sealed interface Entry {}

  /** Enters at the end, with a new lock. */
  public record AtTheEnd() implements Entry {}

  /** Enters in the place that a predecessor in the same process gave up. */
  public record TakeUp(ElectionHandOver place) implements Entry {}

  /**
   * Reads the locks, and enters in a predecessor's place once {@link Election#takeUp} gives it; so
   * nothing has to be read any more when that happens.
   */
  public record StandBy() implements Entry {}

  /** Long enough for an etcd election and a stalled disk, short enough for an operator to wait. */
  public static final Duration DEFAULT_TTL = Duration.ofSeconds(10);

  /** Returns the usual options: a new lock, and no lock is recognised as an own one. */
  public static ElectionOptions of(KeyPrefix prefix, byte[] value) {
    return new ElectionOptions(prefix, value, DEFAULT_TTL, lock -> false, new AtTheEnd());
  }

  /** Returns the same with another time that a dead leader is waited for. */
  public ElectionOptions withTtl(Duration time) {
    return new ElectionOptions(prefix, value, time, ownPreviousLife, entry);
  }

  /** Returns the same with a test for locks that an earlier process left behind. */
  public ElectionOptions removing(Predicate<KeyValue> stale) {
    return new ElectionOptions(prefix, value, ttl, stale, entry);
  }

  /** Returns the same, waiting for a predecessor's place. */
  public ElectionOptions standingBy() {
    return new ElectionOptions(prefix, value, ttl, ownPreviousLife, new StandBy());
  }

  /** Returns the same, entering in a predecessor's place. */
  public ElectionOptions takingUp(ElectionHandOver place) {
    return new ElectionOptions(prefix, value, ttl, ownPreviousLife, new TakeUp(place));
  }
}
