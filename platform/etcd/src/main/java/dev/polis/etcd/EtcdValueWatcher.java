package dev.polis.etcd;

import dev.polis.base.values.Watcher;
import dev.polis.base.values.WatcherClosedException;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Follows a range of keys and keeps only the newest unread state of each key, so a slow reader
 * costs as much memory as there are keys.
 *
 * <p>It keeps new states apart from the backlog of {@link #poll}. The backlog has the states of the
 * last get, so a loop of polls ends, however fast the range changes.
 */
final class EtcdValueWatcher<T> implements Watcher<T> {

  /** Holds the newest unread state of a key; {@code bytes} are null when it was deleted. */
  private record State(String key, byte[] bytes, long revision) {
    Optional<byte[]> stored() {
      return Optional.ofNullable(bytes);
    }
  }

  // The first poll waits for the first listing, which may take as long as a call with its retries.
  private static final Duration FIRST_LISTING = EtcdConnection.DEFAULT_DEADLINE;
  private static final long FOR_EVER = Long.MAX_VALUE;

  private final EtcdConnection connection;
  private final WatchSubscription subscription;
  private final EtcdValue<T> value;
  private final Runnable onClose;
  private final Map<String, State> arrived = new LinkedHashMap<>();
  private final Map<String, State> backlog = new LinkedHashMap<>();

  /** The mod revision of each existing key. */
  private final Map<String, Long> present = new HashMap<>();

  private EtcdException failure; // null unless etcd refused since the last update
  private boolean listed;
  private boolean begun;
  private boolean reading;
  private boolean closed;

  EtcdValueWatcher(
      EtcdConnection connection,
      Wire wire,
      KeyRange range,
      EtcdValue<T> value,
      Consumer<EtcdValueWatcher<T>> onClose) {
    this.connection = connection;
    this.value = value;
    this.onClose = () -> onClose.accept(this);
    this.subscription =
        new WatchSubscription(
            wire,
            range,
            WatchOptions.snapshot(),
            new Conflation(),
            new WatchOptions.FromSnapshot());
  }

  void open() {
    connection.watches().add(subscription);
  }

  @Override
  public T get(Predicate<? super T> wanted) throws InterruptedException {
    return find(wanted, FOR_EVER)
        .orElseThrow(() -> new AssertionError("a wait without a limit ended without a value"));
  }

  @Override
  public T get(Predicate<? super T> wanted, Duration within)
      throws InterruptedException, TimeoutException {
    return find(wanted, Math.max(0, within.toNanos()))
        .orElseThrow(
            () ->
                new TimeoutException(
                    "nothing new in etcd under " + subscription.range + " within " + within));
  }

  private Optional<T> find(Predicate<? super T> wanted, long nanos) throws InterruptedException {
    enter();
    try {
      long start = System.nanoTime();
      while (true) {
        long left = nanos == FOR_EVER ? FOR_EVER : nanos - (System.nanoTime() - start);
        Optional<T> next = await(left).map(this::decode);
        if (next.isEmpty() || wanted.test(next.get())) {
          return next;
        }
      }
    } finally {
      leave();
    }
  }

  /** Waits for a state; returns empty if the time is over. */
  private synchronized Optional<State> await(long nanos) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it waited");
    }
    long end = System.nanoTime() + nanos;
    while (true) {
      requireOpen();
      admit();
      Optional<State> next = takeBacklog();
      if (next.isPresent()) {
        return next;
      }
      throwFailure();
      long left = end - System.nanoTime();
      if (left <= 0) {
        return Optional.empty();
      }
      if (nanos == FOR_EVER) {
        wait();
      } else {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    }
  }

  @Override
  public Optional<T> poll() {
    enter();
    try {
      return pollState().map(this::decode);
    } catch (InterruptedException interrupted) {
      throw interrupted("the first listing of " + subscription.range, interrupted);
    } finally {
      leave();
    }
  }

  private synchronized Optional<State> pollState() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it waited");
    }
    long end = System.nanoTime() + FIRST_LISTING.toNanos();
    while (!listed) {
      requireOpen();
      throwFailure();
      if (end - System.nanoTime() <= 0) {
        throw new EtcdUnavailableException(
            "the first listing of "
                + subscription.range
                + " did not come within "
                + FIRST_LISTING.toSeconds()
                + " s; check that a quorum is up",
            null);
      }
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    requireOpen();
    if (!begun) {
      admit();
    }
    return takeBacklog();
  }

  /** Moves new states to the backlog, where they replace older ones of the same key. */
  private void admit() {
    if (!listed) {
      return;
    }
    begun = true;
    arrived.forEach(
        (key, state) -> {
          backlog.remove(key);
          backlog.put(key, state);
        });
    arrived.clear();
  }

  private Optional<State> takeBacklog() {
    Iterator<State> states = backlog.values().iterator();
    if (!states.hasNext()) {
      return Optional.empty();
    }
    State first = states.next();
    states.remove();
    return Optional.of(first);
  }

  private T decode(State state) {
    return value.decode(state.key(), state.stored());
  }

  private void throwFailure() {
    if (failure != null) {
      EtcdException thrown = failure;
      failure = null;
      throw thrown;
    }
  }

  private synchronized void enter() {
    requireOpen();
    if (reading) {
      throw new IllegalStateException(
          "two threads read one watcher of "
              + subscription.range
              + ": a watcher belongs to one reader, open one each");
    }
    reading = true;
  }

  private synchronized void leave() {
    reading = false;
  }

  private void requireOpen() {
    if (closed) {
      throw new WatcherClosedException(
          "the watcher of etcd range " + subscription.range + " is closed");
    }
  }

  static EtcdInterruptedException interrupted(String what, InterruptedException cause) {
    Thread.currentThread().interrupt();
    return new EtcdInterruptedException("interrupted while waiting for " + what, cause);
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      notifyAll();
    }
    connection.watches().remove(subscription);
    onClose.run();
  }

  private final class Conflation implements WatchSubscription.Sink {

    @Override
    public void deliver(WatchUpdate update) {
      synchronized (EtcdValueWatcher.this) {
        failure = null;
        switch (update) {
          case WatchUpdate.Changes changes -> changes.events().forEach(this::change);
          case WatchUpdate.Snapshot snapshot -> replace(snapshot);
          case WatchUpdate.Progress progress -> {}
        }
        EtcdValueWatcher.this.notifyAll();
      }
    }

    private void change(WatchEvent event) {
      if (event.type() == WatchEvent.Type.PUT) {
        put(event.kv());
      } else {
        delete(event.key(), event.revision());
      }
    }

    private void put(KeyValue kv) {
      present.put(kv.key(), kv.modRevision());
      arrive(new State(kv.key(), kv.value(), kv.modRevision()));
    }

    private void delete(String key, long revision) {
      present.remove(key);
      arrive(new State(key, null, revision));
    }

    private void arrive(State state) {
      arrived.remove(state.key());
      arrived.put(state.key(), state);
    }

    /** Replaces missed changes by the listing, which shows their result. */
    private void replace(WatchUpdate.Snapshot snapshot) {
      Map<String, Long> before = new HashMap<>(present);
      snapshot.keys().stream()
          .sorted(Comparator.comparingLong(KeyValue::modRevision))
          .forEach(
              kv -> {
                Long known = before.remove(kv.key());
                if (known == null || known < kv.modRevision()) {
                  put(kv);
                }
              });
      before.keySet().forEach(key -> delete(key, snapshot.revision()));
      listed = true;
    }

    @Override
    public void fail(EtcdException refusal) {
      synchronized (EtcdValueWatcher.this) {
        failure = refusal;
        EtcdValueWatcher.this.notifyAll();
      }
    }

    @Override
    public boolean isFull() {
      return false;
    }
  }
}
