package dev.polis.etcd;

import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
 * <p>Another writer of the locks does no lasting harm: a candidate restores its own lock when it
 * was overwritten, and removes a lock without a lease when it is first in the queue. When a lock is
 * deleted by hand, the next candidate leads only after the lease of that lock has ended.
 */
public final class Election implements AutoCloseable {

  // D-41: a candidate that cannot stand must not hammer etcd.
  private static final Duration RETRY_FIRST = Duration.ofMillis(100);
  private static final Duration RETRY_MOST = Duration.ofSeconds(5);

  // Used only after a lock was deleted by hand; its lease ends within seconds.
  private static final Duration LEASE_POLL = Duration.ofMillis(100);

  private final EtcdClient client;
  private final ElectionOptions options;
  private final Consumer<Election> onClose;
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
        place -> new ElectionHandOver(place.lease().id(), place.lockKey(), place.createRevision()));
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
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException again) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
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
    private final Set<Long> earlierLeases = new HashSet<>();
    private Place place; // null until taken
    private EtcdWatch watch; // null until opened
    private boolean over;

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
        revision = client.kv().put(key, options.value(), lease);
      } catch (EtcdOutcomeUnknownException perhaps) {
        // No other client writes under a lease id of this one.
        revision = client.kv().get(key).map(KeyValue::createRevision).orElseThrow(() -> perhaps);
      }
      return hold(new Place(lease, key, revision));
    }

    private Place takeUp(ElectionHandOver given) throws InterruptedException {
      // The read of the locks checks whether the lock still exists with the same value.
      Lease lease = client.leases().adopt(given.leaseId());
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
          .forEach(lock -> earlierLeases.add(lock.lease()));
      backoff.reset();
      if (first.key().equals(mine.lockKey())) {
        awaitEndOfEarlierLeases();
        publishLeader(mine);
      } else if (first.lease() == 0) {
        removeUnlessRestored(first);
      } else {
        publish(new ElectionState.Follower(first));
      }
      return true;
    }

    /**
     * Waits until the leases of all earlier locks have ended. A lease ends with its lock, unless a
     * person deleted the lock: then its candidate may rely on the lease until it ends.
     */
    private void awaitEndOfEarlierLeases() throws InterruptedException {
      for (long lease : Set.copyOf(earlierLeases)) {
        while (isAlive(lease)) {
          neither(
              "the lock of an earlier candidate was deleted, but its lease %x is still alive; waiting for its end"
                  .formatted(lease));
          Thread.sleep(LEASE_POLL);
        }
        earlierLeases.remove(lease);
      }
    }

    private boolean isAlive(long lease) throws InterruptedException {
      try {
        return client.connection().leases().exists(lease);
      } catch (EtcdUnavailableException unknown) {
        return true;
      }
    }

    private boolean isOurs(KeyValue own, Place mine) {
      return own.lease() == mine.lease().id() && Arrays.equals(own.value(), options.value());
    }

    /**
     * Restores this candidate's lock after another writer has overwritten it. Its place in the
     * queue, which is the revision of its creation, stays.
     */
    private void restore(Place mine) throws InterruptedException {
      client
          .kv()
          .txn()
          .when(Compare.createRevision(mine.lockKey()).is(mine.createRevision()))
          .then(Op.put(mine.lockKey(), options.value(), mine.lease()))
          .commit();
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
