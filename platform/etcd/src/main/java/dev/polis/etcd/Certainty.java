package dev.polis.etcd;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Knows how long the last answered request of a holder proves what it asked for, counted from the
 * time before the request was sent. Thread-safe: the late answer to an earlier request only
 * shortens it.
 */
final class Certainty {

  /** The number of observed ends; an earlier request no longer counts then. */
  private final AtomicInteger lapses = new AtomicInteger();

  private volatile Life life;

  /**
   * Holds the time at which a request was sent.
   *
   * @param lapses the number of observed ends before it was sent
   */
  record Request(LeaseClocks.Instant sent, int lapses) {

    Life answered(Duration proved) {
      return new Life(sent.plus(proved), lapses);
    }
  }

  /** Holds the time until which an answered request proves something. */
  record Life(LeaseClocks.Instant deadline, int lapses) {}

  /** Begins at this moment, with a proof for this time. */
  Certainty(LeaseClocks.Instant begin, Duration proved) {
    this.life = new Request(begin, 0).answered(proved);
  }

  /** Begins a request; called before it is sent. */
  Request request(LeaseClocks.Instant now) {
    return new Request(now, lapses.get());
  }

  /** Records that a request was answered. */
  void answered(Request request, Duration proved) {
    life = request.answered(proved);
  }

  Life life() {
    return life;
  }

  /**
   * Returns whether the proof certainly lasts until this moment, by all clocks. After that, only
   * the answer to a later request restores the certainty, and no clock that is set back. It takes
   * no lock.
   */
  boolean lastsUntil(LeaseClocks.Instant moment) {
    Life until = life;
    boolean inTime = moment.isBeforeByAll(until.deadline);
    if (!inTime) {
      lapses.accumulateAndGet(until.lapses + 1, Math::max);
    }
    return inTime && until.lapses == lapses.get();
  }
}
