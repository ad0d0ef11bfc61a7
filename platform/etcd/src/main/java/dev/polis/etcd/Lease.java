package dev.polis.etcd;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Keeps one lease of etcd alive. Its life is counted from the moment a request was <em>sent</em>
 * that etcd later answered, so it always ends here before it ends there. Thread-safe.
 */
public final class Lease implements AutoCloseable {

  private final LeaseKeeper keeper;
  private final long id;
  private final Duration ttl;
  private final MutableValue<LeaseState> state = new MutableValue<>(new LeaseState.Alive());
  private final List<Runnable> onEnd = new ArrayList<>();

  private final LeaderLease leaderLease;

  /** How often a renewal's time was seen to be over; a renewal sent before counts no more. */
  private final AtomicInteger lapses = new AtomicInteger();

  // All below are written under the keeper's lock; the volatile ones are read without it.
  final Deque<Request> unanswered = new ArrayDeque<>();
  volatile Life life;
  volatile boolean ended;
  long lastSent;
  Future<?> expiry = CompletableFuture.completedFuture(null);

  /**
   * Holds when a renewal was sent.
   *
   * @param lapses how often the time of a renewal before it had been seen to be over
   */
  record Request(LeaseClocks.Instant sent, int lapses) {

    Life answered(Duration ttl) {
      return new Life(sent.plus(ttl), lapses);
    }
  }

  /** Holds until when the lease lives, by the last renewal that etcd answered. */
  record Life(LeaseClocks.Instant deadline, int lapses) {}

  Lease(LeaseKeeper keeper, long id, Duration ttl, LeaseClocks.Instant sent) {
    this.keeper = keeper;
    this.id = id;
    this.ttl = ttl;
    this.life = new Request(sent, 0).answered(ttl);
    this.leaderLease = new LeaderLease(this);
  }

  LeaseClocks.Instant now() {
    return keeper.now();
  }

  /** Begins a renewal. */
  Request request(LeaseClocks.Instant now) {
    return new Request(now, lapses.get());
  }

  /** Returns the id that etcd knows it by. */
  public long id() {
    return id;
  }

  /** Returns how long it lives without being renewed, as etcd granted it. */
  public Duration ttl() {
    return ttl;
  }

  /** Returns its state as a value; {@link #isAlive()} gives the exact answer at this instant. */
  public Value<LeaseState> state() {
    return state;
  }

  /**
   * Returns whether the lease is certainly alive at this instant. The time for which the machine
   * was suspended counts. Once it is not, it never is again.
   */
  public boolean isAlive() {
    return keeper.isAlive(this);
  }

  /**
   * Returns whether it certainly lives for a margin more, by all clocks. Once it does not, only a
   * renewal that is sent afterwards can make it certain again: no clock that is set back can. Takes
   * no lock.
   */
  boolean isCertain(Duration margin) {
    Life until = life;
    boolean inTime = now().plus(margin).isBeforeByAll(until.deadline);
    if (!inTime) {
      lapses.accumulateAndGet(until.lapses + 1, Math::max);
    }
    // After the clocks: the holder learns of the end before another candidate may rely on it.
    return inTime && until.lapses == lapses.get() && !ended;
  }

  /** Returns the same certainty for the holder of a lock that hangs on this lease. */
  LeaderLease leaderLease() {
    return leaderLease;
  }

  /**
   * Requires it to be alive.
   *
   * @throws EtcdLeaseLostException if it is not
   */
  public void requireAlive() {
    if (!isAlive()) {
      throw new EtcdLeaseLostException(
          "lease " + Long.toHexString(id) + " is not alive: " + state.peek().orElseThrow(), null);
    }
  }

  /** Revokes it: etcd deletes its keys. Does nothing if it is gone already. */
  public void revoke() throws InterruptedException {
    keeper.revoke(this);
  }

  /** Stops keeping it alive without revoking it, so that another may adopt its id. */
  public void release() {
    keeper.release(this);
  }

  /**
   * Stops keeping it alive and asks etcd to revoke it, waiting for at most a second: if etcd is not
   * there, the lease expires by itself.
   */
  @Override
  public void close() {
    keeper.closeQuietly(this);
  }

  void onEnd(Runnable action) {
    synchronized (onEnd) {
      if (state.peek().orElseThrow() instanceof LeaseState.Alive) {
        onEnd.add(action);
        return;
      }
    }
    action.run();
  }

  void publish(LeaseState end) {
    List<Runnable> actions;
    synchronized (onEnd) {
      state.set(end);
      actions = List.copyOf(onEnd);
      onEnd.clear();
    }
    actions.forEach(Runnable::run);
  }

  @Override
  public String toString() {
    return "Lease[" + Long.toHexString(id) + ", " + ttl.toSeconds() + " s]";
  }
}
