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
 * Keeps one lease of etcd alive. Its life counts from the moment at which the last answered request
 * was <em>sent</em>, so it always ends here before it ends at etcd. Thread-safe.
 */
public final class Lease implements AutoCloseable {

  private final LeaseKeeper keeper;
  private final long id;
  private final Duration ttl;
  private final MutableValue<LeaseState> state = new MutableValue<>(new LeaseState.Alive());
  private final List<Runnable> onEnd = new ArrayList<>();

  private final LeaderLease leaderLease;

  /** The number of observed ends of a renewal's time; an earlier renewal no longer counts then. */
  private final AtomicInteger lapses = new AtomicInteger();

  // All below are written under the keeper's lock; the volatile ones are read without it.
  final Deque<Request> unanswered = new ArrayDeque<>();
  volatile Life life;
  volatile boolean ended;
  long lastSent;
  Future<?> expiry = CompletableFuture.completedFuture(null);

  /**
   * Holds the time at which a renewal was sent.
   *
   * @param lapses the number of observed ends before it was sent
   */
  record Request(LeaseClocks.Instant sent, int lapses) {

    Life answered(Duration ttl) {
      return new Life(sent.plus(ttl), lapses);
    }
  }

  /** Holds the end of the lease's life by the last answered renewal. */
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

  /** Returns etcd's id of the lease. */
  public long id() {
    return id;
  }

  /** Returns the granted lifetime of the lease without a renewal. */
  public Duration ttl() {
    return ttl;
  }

  /**
   * Returns the lease's state as a value; {@link #isAlive()} gives the exact answer for this
   * instant.
   */
  public Value<LeaseState> state() {
    return state;
  }

  /**
   * Returns whether the lease is certainly alive at this instant. A suspension of the machine
   * counts. A lease that is not alive never is again.
   */
  public boolean isAlive() {
    return keeper.isAlive(this);
  }

  /**
   * Returns whether the lease certainly lives for a margin more, by all clocks. After that, only a
   * later renewal restores the certainty, and no clock that is set back. It takes no lock.
   */
  boolean isCertain(Duration margin) {
    Life until = life;
    boolean inTime = now().plus(margin).isBeforeByAll(until.deadline);
    if (!inTime) {
      lapses.accumulateAndGet(until.lapses + 1, Math::max);
    }
    // Checked after the clocks: the holder learns of the end before another candidate may rely on
    // it.
    return inTime && until.lapses == lapses.get() && !ended;
  }

  /** Returns the same certainty for the holder of this lease's lock. */
  LeaderLease leaderLease() {
    return leaderLease;
  }

  /**
   * Requires a live lease.
   *
   * @throws EtcdLeaseLostException if it is not
   */
  public void requireAlive() {
    if (!isAlive()) {
      throw new EtcdLeaseLostException(
          "lease " + Long.toHexString(id) + " is not alive: " + state.peek().orElseThrow(), null);
    }
  }

  /** Revokes the lease, so that etcd deletes its keys; does nothing if it is gone. */
  public void revoke() throws InterruptedException {
    keeper.revoke(this);
  }

  /** Stops the renewals without a revocation, so that another holder may adopt the id. */
  public void release() {
    keeper.release(this);
  }

  /**
   * Stops the renewals and revokes the lease; waits at most a second, since an unreachable etcd
   * lets it expire.
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
