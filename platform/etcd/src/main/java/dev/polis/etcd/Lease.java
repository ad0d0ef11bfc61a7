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

  final Certainty certainty;

  // All below are written under the keeper's lock; the volatile one is read without it.
  final Deque<Certainty.Request> unanswered = new ArrayDeque<>();
  volatile boolean ended;
  long lastSent;
  Future<?> expiry = CompletableFuture.completedFuture(null);

  Lease(LeaseKeeper keeper, long id, Duration ttl, LeaseClocks.Instant sent) {
    this.keeper = keeper;
    this.id = id;
    this.ttl = ttl;
    this.certainty = new Certainty(sent, ttl);
    this.leaderLease = new LeaderLease(this);
  }

  LeaseClocks.Instant now() {
    return keeper.now();
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

  /** Returns whether the lease certainly lives until this moment, by all clocks, without a lock. */
  boolean isCertainUntil(LeaseClocks.Instant moment) {
    // The end is checked after the clocks: the holder learns of it before another candidate may
    // rely on it.
    return certainty.lastsUntil(moment) && !ended;
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
