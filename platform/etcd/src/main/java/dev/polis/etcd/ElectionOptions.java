package dev.polis.etcd;

import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

/**
 * How to stand for election.
 *
 * @param prefix directory of the locks; candidates of one election share it
 * @param value what others see of this candidate when it leads
 * @param ttl how long a dead leader is waited for
 * @param ownPreviousLife tells a lock left behind by an earlier life of this candidate, which is
 *     removed instead of waited for; nothing else may match
 * @param handOver a predecessor's place to take up, at most one
 */
public record ElectionOptions(
    KeyPrefix prefix,
    byte[] value,
    Duration ttl,
    Predicate<KeyValue> ownPreviousLife,
    List<ElectionHandOver> handOver) {

  /** Long enough for an etcd election and a stalled disk, short enough for an operator to wait. */
  public static final Duration DEFAULT_TTL = Duration.ofSeconds(10);

  public ElectionOptions {
    handOver = List.copyOf(handOver);
  }

  public static ElectionOptions of(KeyPrefix prefix, byte[] value) {
    return new ElectionOptions(prefix, value, DEFAULT_TTL, lock -> false, List.of());
  }

  public ElectionOptions withTtl(Duration time) {
    return new ElectionOptions(prefix, value, time, ownPreviousLife, handOver);
  }

  public ElectionOptions removing(Predicate<KeyValue> stale) {
    return new ElectionOptions(prefix, value, ttl, stale, handOver);
  }

  public ElectionOptions takingUp(ElectionHandOver place) {
    return new ElectionOptions(prefix, value, ttl, ownPreviousLife, List.of(place));
  }
}
