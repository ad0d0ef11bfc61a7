package dev.polis.etcd;

import dev.polis.base.backoff.Backoff;
import dev.polis.base.backoff.Uninterrupted;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Stands for election. Each candidate writes a lock under its lease; the oldest lock leads. After a
 * failure it stands again, with growing pauses, until {@link #close()} or {@link #handOver()}.
 *
 * <p>While there are other candidates, the leader writes its lock again several times in a second
 * ({@link LeaderBeats}). When it is silent for a second and has ended, another candidate removes
 * its lock ({@link SilentLeader}), long before the lease would. A leader that is only slow keeps
 * its lock until its lease ends.
 *
 * <p>Another writer of the locks does no lasting harm: a candidate restores its own lock when it
 * was overwritten, and removes a lock without a lease when it is first in the queue. When a lock is
 * deleted by hand, the next candidate leads only after the lease of that lock has ended.
 */
public final class Election implements AutoCloseable {

  // D-41: a candidate that cannot stand must not hammer etcd.
  private static final Duration RETRY_FIRST = Duration.ofMillis(100);
  private static final Duration RETRY_MOST = Duration.ofSeconds(5);
  private static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

  // Used only after a lock was deleted by hand; its lease ends within seconds.
  private static final Duration LEASE_POLL = Duration.ofMillis(100);

  private final EtcdClient client;
  private final ElectionOptions options;
  private final Consumer<Election> onClose;
  private final MutableValue<byte[]> value;
  private final MutableValue<ElectionState> state =
      new MutableValue<>(new ElectionState.Neither("the election has not begun"));
  private final AtomicReference<Standing> current = new AtomicReference<>();
  private final CountDownLatch ready = new CountDownLatch(1);
  private final BlockingQueue<ElectionHandOver> given = new LinkedBlockingQueue<>();
  private final Thread thread;
  private boolean waits; // true while it waits for a place; used by the thread alone

  /** Holds one lock of this candidate. */
  private record Place(Lease lease, String lockKey, long createRevision) {

    /** Returns whether etcd has confirmed the lock. */
    boolean isTaken() {
      return createRevision > 0;
    }
  }

  Election(EtcdClient client, ElectionOptions options, Consumer<Election> onClose) {
    this.client = client;
    this.options = options;
    this.onClose = onClose;
    this.value = new MutableValue<>(options.value());
    this.waits = options.entry() instanceof ElectionOptions.StandBy;
    this.thread =
        Thread.ofVirtual().name("election " + options.prefix()).unstarted(this::standUntilStopped);
  }

  void start() {
    thread.start();
  }

  /** Returns the leadership of this candidate, as a value that is never empty. */
  public Value<ElectionState> state() {
    return state;
  }

  /**
   * Changes the value that other candidates read when this one leads. It reaches them at once, and
   * the leadership stays.
   */
  public void announce(byte[] changed) {
    value.set(changed);
    Optional.ofNullable(current.get())
        .flatMap(Standing::toBeWritten)
        .ifPresent(held -> client.connection().work(() -> write(held)));
  }

  private void write(Place held) {
    try {
      LeaderBeats.beat(client.kv(), held.lockKey(), held.createRevision(), value(), held.lease());
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (EtcdClosedException closed) {
      // The election has ended with its client.
      return;
    }
  }

  private byte[] value() {
    return value.peek().orElseThrow();
  }

  /**
   * Waits until a candidate on standby has read the locks.
   *
   * @return false if the time is over
   */
  public boolean awaitReady(Duration time) throws InterruptedException {
    return ready.await(time.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Gives the predecessor's place to a candidate on standby. */
  public void takeUp(ElectionHandOver place) {
    given.add(place);
  }

  /**
   * Ends this candidacy but keeps the lock, so that a successor can continue as the leader, or in
   * the same place of the queue, without an election. The state becomes {@link
   * ElectionState.Neither}.
   *
   * @return the place, empty if there is none now
   */
  public Optional<ElectionHandOver> handOver() {
    Optional<Place> held = stop("handed over").flatMap(Standing::place);
    Optional<Place> whole = held.filter(place -> place.lease().isAlive() && place.isTaken());
    if (whole.isPresent()) {
      whole.get().lease().release();
    } else {
      held.ifPresent(place -> place.lease().close());
    }
    onClose.accept(this);
    return whole.map(
        place ->
            new ElectionHandOver(
                place.lease().id(),
                place.lockKey(),
                place.createRevision(),
                place.lease().leaderLease().reliesOnBeats()));
  }

  /** Resigns and removes the lock, so that another candidate can lead at once. */
  @Override
  public void close() {
    stop("resigned").flatMap(Standing::place).ifPresent(held -> held.lease().close());
    onClose.accept(this);
  }

  /** Ends the thread, which publishes no state afterwards. */
  private Optional<Standing> stop(String reason) {
    thread.interrupt();
    Uninterrupted.join(thread, FOREVER);
    Optional<Standing> last = Optional.ofNullable(current.getAndSet(null));
    last.ifPresent(Standing::end);
    state.set(new ElectionState.Neither(reason));
    return last;
  }

  private void standUntilStopped() {
    Backoff backoff = new Backoff(RETRY_FIRST, RETRY_MOST);
    ElectionOptions.Entry entry = options.entry();
    try {
      while (true) {
        Standing standing = new Standing(backoff);
        current.set(standing);
        standing.neither("taking part");
        try {
          standing.stand(entry);
        } catch (EtcdClosedException closed) {
          standing.neither("the etcd client is closed");
          return;
        } catch (EtcdException failed) {
          standing.neither(failed.getMessage());
        } finally {
          standing.rest();
        }
        // An instance that waits for a place must not take a new one, since its predecessor still
        // has the place.
        entry = waits ? entry : new ElectionOptions.AtTheEnd();
        standing.abandon();
        backoff.pause();
      }
    } catch (InterruptedException stopped) {
      // stop() returns the place in the queue to its caller, which releases or revokes it.
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Makes one attempt, from a new lease to its loss. Only its owner's thread and the end of its
   * lease use it.
   */
  private final class Standing {

    private final Backoff backoff;
    private final Map<String, KeyValue> locks = new HashMap<>();
    private final Map<Long, Seen> earlier = new HashMap<>();
    private final SilentLeader silent =
        new SilentLeader(client, options.prefix(), options.holderEnded());
    private LeaderBeats beats; // null until begun; used by the election's thread alone
    private Place place; // null until taken
    private EtcdWatch watch; // null until opened
    private boolean over;

    /**
     * Holds an earlier lock.
     *
     * @param at the time of the connection's clock at which it was first seen in this state
     */
    private record Seen(KeyValue lock, long at) {}

    Standing(Backoff backoff) {
      this.backoff = backoff;
    }

    synchronized Optional<Place> place() {
      return Optional.ofNullable(place);
    }

    private synchronized void publish(ElectionState next) {
      if (!over && !next.equals(state.peek().orElseThrow())) {
        state.set(next);
      }
    }

    synchronized void neither(String reason) {
      publish(new ElectionState.Neither(reason));
    }

    /** Ends publishing. */
    synchronized void end() {
      over = true;
    }

    /** Ends the threads of this attempt. */
    void rest() {
      silent.close();
      if (beats != null) {
        beats.close();
      }
    }

    void abandon() {
      place().ifPresent(held -> held.lease().close());
    }

    void stand(ElectionOptions.Entry entry) throws InterruptedException {
      if (entry instanceof ElectionOptions.StandBy) {
        standBy();
        return;
      }
      Place taken = enter(entry);
      try (EtcdWatch opened = open()) {
        taken.lease().onEnd(this::leaseEnded);
        follow(taken, opened);
      } catch (EtcdClosedException ended) {
        requireLeaseEnded(taken, ended);
      }
    }

    private EtcdWatch open() throws InterruptedException {
      EtcdWatch opened = client.watch(options.prefix().range(), WatchOptions.snapshot());
      synchronized (this) {
        watch = opened;
      }
      return opened;
    }

    /** Reads the locks while there is no place, so that it can judge a given place at once. */
    private void standBy() throws InterruptedException {
      ElectionHandOver place;
      try (EtcdWatch opened = open()) {
        see(opened.next());
        neither("waiting for the place of the candidate before");
        ready.countDown();
        place = given.take();
        waits = false;
        KeyValue known = locks.get(place.lockKey());
        if (known != null && known.createRevision() == place.createRevision()) {
          Place taken = takeUp(place);
          taken.lease().onEnd(this::leaseEnded);
          try {
            if (judge(taken)) {
              follow(taken, opened);
            }
          } catch (EtcdClosedException ended) {
            requireLeaseEnded(taken, ended);
          }
          return;
        }
      }
      // The place came after the read of the locks.
      stand(new ElectionOptions.TakeUp(place));
    }

    private static void requireLeaseEnded(Place taken, EtcdClosedException ended) {
      if (taken.lease().isAlive()) {
        throw ended;
      }
    }

    private void follow(Place taken, EtcdWatch opened) throws InterruptedException {
      while (true) {
        see(opened.next());
        if (!judge(taken)) {
          return;
        }
      }
    }

    /** Ends this attempt when the lease must be considered lost. */
    private synchronized void leaseEnded() {
      place()
          .ifPresent(
              held -> neither("lost the lease: " + held.lease().state().peek().orElseThrow()));
      over = true;
      if (watch != null) {
        // On another thread, since the close of a watch takes the streams' lock.
        client.connection().later(0, watch::close);
      }
    }

    private Place enter(ElectionOptions.Entry entry) throws InterruptedException {
      return switch (entry) {
        case ElectionOptions.TakeUp(ElectionHandOver place) -> takeUp(place);
        case ElectionOptions.StandBy _ ->
            throw new IllegalStateException("a candidate that stands by has no place yet");
        case ElectionOptions.AtTheEnd _ -> {
          removeStaleLocks();
          yield takePlace();
        }
      };
    }

    private void removeStaleLocks() throws InterruptedException {
      for (KeyValue lock : client.kv().range(options.prefix().range()).keys()) {
        if (options.ownPreviousLife().test(lock)) {
          client.kv().txn().when(Compare.unchanged(lock)).then(Op.delete(lock.key())).commit();
        }
      }
    }

    private Place takePlace() throws InterruptedException {
      Lease lease = client.leases().grant(options.ttl());
      String key = options.prefix().key(Long.toHexString(lease.id()));
      hold(new Place(lease, key, 0));
      long revision;
      try {
        revision = client.kv().put(key, value(), lease);
      } catch (EtcdOutcomeUnknownException perhaps) {
        // No other client writes under a lease id of this one.
        revision = client.kv().get(key).map(KeyValue::createRevision).orElseThrow(() -> perhaps);
      }
      return hold(new Place(lease, key, revision));
    }

    private Place takeUp(ElectionHandOver given) throws InterruptedException {
      // The read of the locks checks whether the lock still exists with the same value.
      Lease lease = client.leases().adopt(given.leaseId());
      if (given.written()) {
        // The sight of the locks may be older than the first write of the one before.
        lease.leaderLease().relyOnBeats();
      }
      return hold(new Place(lease, given.lockKey(), given.createRevision()));
    }

    private synchronized Place hold(Place held) {
      place = held;
      return held;
    }

    private void see(WatchUpdate update) {
      switch (update) {
        case WatchUpdate.Snapshot snapshot -> {
          locks.clear();
          snapshot.keys().forEach(lock -> locks.put(lock.key(), lock));
        }
        case WatchUpdate.Changes changes -> {
          for (WatchEvent event : changes.events()) {
            if (event.type() == WatchEvent.Type.PUT) {
              locks.put(event.key(), event.kv());
            } else {
              locks.remove(event.key());
            }
          }
        }
        case WatchUpdate.Progress progress -> {}
      }
    }

    /** Publishes the leader; returns false if the candidate's own lock is gone. */
    private boolean judge(Place mine) throws InterruptedException {
      KeyValue own = locks.get(mine.lockKey());
      if (own == null || own.createRevision() != mine.createRevision()) {
        mine.lease().leaderLease().end();
        neither("the own lock " + mine.lockKey() + " was removed");
        return false;
      }
      if (!isOurs(own, mine)) {
        restore(mine);
      }
      KeyValue first =
          locks.values().stream()
              .min(Comparator.comparingLong(KeyValue::createRevision))
              .orElseThrow();
      locks.values().stream()
          .filter(lock -> lock.createRevision() < mine.createRevision() && lock.lease() != 0)
          .forEach(this::remember);
      backoff.reset();
      if (first.key().equals(mine.lockKey())) {
        silent.hearNone();
        awaitEndOfEarlier();
        if (locks.size() > 1
            || own.modRevision() > own.createRevision()
            || mine.lease().leaderLease().reliesOnBeats()) {
          beginBeats(mine);
        }
        publishLeader(mine);
        return true;
      }
      silent.hear(first);
      if (first.lease() == 0) {
        removeUnlessRestored(first);
      } else {
        publishFollower(first);
      }
      return true;
    }

    private void remember(KeyValue lock) {
      earlier.compute(
          lock.lease(),
          (lease, seen) ->
              seen != null && seen.lock().equals(lock)
                  ? seen
                  : new Seen(lock, client.connection().nanos()));
    }

    /**
     * Writes the lock again and again from now on, since other candidates see it. Before the first
     * write is answered, this leader is not certain of its lock.
     */
    private void beginBeats(Place mine) {
      if (beats == null) {
        mine.lease().leaderLease().relyOnBeats();
        beats = new LeaderBeats(client, mine.lockKey(), mine.createRevision(), mine.lease(), value);
      }
    }

    /** Publishes the leader, unless it is known and has only written its lock again. */
    private synchronized void publishFollower(KeyValue first) {
      boolean known =
          state.peek().orElseThrow() instanceof ElectionState.Follower(KeyValue lock)
              && lock.key().equals(first.key())
              && lock.createRevision() == first.createRevision()
              && Arrays.equals(lock.value(), first.value());
      if (!known) {
        publish(new ElectionState.Follower(first));
      }
    }

    /**
     * Waits until no candidate relies on an earlier lock. A lease ends with its lock, unless the
     * lock was deleted: then its candidate may rely on it until the lease ends, or for the time of
     * a silence after its last write.
     */
    private void awaitEndOfEarlier() throws InterruptedException {
      for (Seen each : List.copyOf(earlier.values())) {
        while (isReliedOn(each)) {
          neither(
              "the lock of an earlier candidate was deleted, but its lease %x is still alive; waiting for its end"
                  .formatted(each.lock().lease()));
          Thread.sleep(LEASE_POLL);
        }
        earlier.remove(each.lock().lease());
      }
    }

    private boolean isReliedOn(Seen earlierLock) throws InterruptedException {
      boolean silence =
          LeaderBeats.has(earlierLock.lock(), options.prefix())
              && client.connection().nanos() - earlierLock.at() >= LeaderBeats.SILENCE.toNanos();
      return !silence && isAlive(earlierLock.lock().lease());
    }

    private boolean isAlive(long lease) throws InterruptedException {
      try {
        return client.connection().leases().exists(lease);
      } catch (EtcdUnavailableException unknown) {
        return true;
      }
    }

    private boolean isOurs(KeyValue own, Place mine) {
      return own.lease() == mine.lease().id() && Arrays.equals(own.value(), value());
    }

    /**
     * Restores this candidate's lock after another writer has overwritten it. Its place in the
     * queue, which is the revision of its creation, stays.
     */
    private void restore(Place mine) throws InterruptedException {
      LeaderBeats.beat(client.kv(), mine.lockKey(), mine.createRevision(), value(), mine.lease());
    }

    /**
     * Returns the place whose lock gets a changed value; empty if there is none, and after the end
     * of this attempt. A successor must know that the lock may have been written.
     */
    private synchronized Optional<Place> toBeWritten() {
      Optional<Place> held = place().filter(taken -> taken.isTaken() && !over);
      held.ifPresent(taken -> taken.lease().leaderLease().relyOnBeats());
      return held;
    }

    /**
     * Removes a lock without a lease, unless its candidate writes it again within the time to live
     * of a lease. A live candidate does so at once; a dead one's lock would never disappear by
     * itself. The watch shows its end.
     */
    private void removeUnlessRestored(KeyValue lock) {
      neither(
          "the lock %s hangs on no lease; it is removed unless its candidate writes it again within %d s"
              .formatted(lock.key(), options.ttl().toSeconds()));
      EtcdConnection connection = client.connection();
      connection.later(options.ttl().toNanos(), () -> connection.work(() -> remove(lock)));
    }

    private void remove(KeyValue lock) {
      synchronized (this) {
        if (over) {
          return;
        }
      }
      try {
        client.kv().txn().when(Compare.unchanged(lock)).then(Op.delete(lock.key())).commit();
      } catch (InterruptedException closed) {
        Thread.currentThread().interrupt();
      } catch (EtcdException failed) {
        removeUnlessRestored(lock);
      }
    }

    private synchronized void publishLeader(Place mine) {
      if (mine.lease().isAlive()) {
        publish(
            new ElectionState.Leader(
                mine.lockKey(),
                mine.createRevision(),
                new Fence(client.kv().absolute(mine.lockKey()), mine.createRevision()),
                mine.lease().leaderLease()));
      }
    }
  }
}
