package dev.polis.handover.following;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.base.values.WatcherClosedException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * Watches the value of the present provider, and continues with that of its successor. A state that
 * the successor has in common with its predecessor is not returned again.
 */
final class FollowedWatcher<T> implements Watcher<T> {
  private final MethodCalls<Value<T>> calls;

  /** Guards the fields below; never held while waiting. */
  private final Object state = new Object();

  private Watcher<T> watcher; // null while none is open
  private ProviderCalls provider; // whose it is; null while none is open
  private Thread reader; // the thread in a get; null if there is none
  private boolean closed;

  /** The newest state looked at; null before the first. Belongs to the reader. */
  private T last;

  /** Whether nothing was looked at since the provider changed. Belongs to the reader. */
  private boolean fresh;

  FollowedWatcher(MethodCalls<Value<T>> calls) {
    this.calls = calls;
  }

  @Override
  public T get(Predicate<? super T> wanted) throws InterruptedException {
    try {
      return find(wanted, CallGate.FOR_EVER);
    } catch (TimeoutException e) {
      throw new AssertionError("a wait without a limit came to its end", e);
    }
  }

  @Override
  public T get(Predicate<? super T> wanted, Duration within)
      throws InterruptedException, TimeoutException {
    return find(wanted, nanos(within));
  }

  private T find(Predicate<? super T> wanted, long nanos)
      throws InterruptedException, TimeoutException {
    enter();
    try {
      long start = System.nanoTime();
      while (true) {
        long left = nanos == CallGate.FOR_EVER ? nanos : nanos - (System.nanoTime() - start);
        Watcher<T> now = attached(left);
        if (now == null) {
          throw new TimeoutException(
              "no new value within the time given: " + calls + " has no provider");
        }
        try {
          Predicate<T> unseen = value -> note(value) && wanted.test(value);
          return left == CallGate.FOR_EVER
              ? now.get(unseen)
              : now.get(unseen, Duration.ofNanos(Math.max(0, left)));
        } catch (WatcherClosedException e) {
          requireMoved(now, e);
        }
      }
    } finally {
      leave();
    }
  }

  @Override
  public Optional<T> poll() {
    enter();
    try {
      while (true) {
        Watcher<T> now = attachedNow();
        if (now == null) {
          return Optional.empty();
        }
        try {
          Optional<T> next = now.poll();
          if (next.isEmpty() || note(next.get())) {
            return next;
          }
        } catch (WatcherClosedException e) {
          requireMoved(now, e);
        }
      }
    } finally {
      leave();
    }
  }

  /** Remembers a state; returns false if it is the one that was looked at before a change. */
  private boolean note(T value) {
    boolean repeated = fresh && value.equals(last);
    fresh = false;
    last = value;
    return !repeated;
  }

  /** Returns if the watcher of a provider was closed because the provider changed. */
  private void requireMoved(Watcher<T> ended, WatcherClosedException why) {
    synchronized (state) {
      if (closed || watcher == ended) {
        throw why;
      }
    }
  }

  private Watcher<T> attachedNow() {
    try {
      return attached(0);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  /** Returns a watcher of the present provider's value, or null if there is none in time. */
  private Watcher<T> attached(long nanos) throws InterruptedException {
    while (true) {
      synchronized (state) {
        requireOpen();
        if (watcher != null) {
          return watcher;
        }
      }
      ProviderCalls entered = calls.gate().enter(this, nanos);
      if (entered == null) {
        requireOpenNow();
        return null;
      }
      try {
        attach(entered, watch(entered));
      } finally {
        calls.gate().leave(entered);
      }
    }
  }

  private Watcher<T> watch(ProviderCalls entered) {
    try {
      return calls.on(entered).watch();
    } catch (RuntimeException | Error unchecked) {
      throw unchecked;
    } catch (Throwable checked) {
      throw new IllegalStateException(calls + " declares no exception and threw one", checked);
    }
  }

  private void attach(ProviderCalls entered, Watcher<T> opened) {
    synchronized (state) {
      // Checked under the lock, which a thread takes after it has retired the provider.
      if (!closed && !entered.retired()) {
        watcher = opened;
        provider = entered;
        fresh = true;
        return;
      }
    }
    opened.close();
  }

  /** Lets go of the provider, unless it is the one given. */
  void detachUnless(ProviderCalls present) {
    synchronized (state) {
      if (provider == present) {
        return;
      }
    }
    detach();
  }

  /** Releases the provider; a get that waits continues with the next one. */
  void detach() {
    Watcher<T> former;
    synchronized (state) {
      former = watcher;
      watcher = null;
      provider = null;
    }
    if (former != null) {
      former.close();
    }
  }

  private void enter() {
    synchronized (state) {
      requireOpen();
      if (reader != null) {
        throw new IllegalStateException(
            "thread '%s' asks a watcher that thread '%s' already waits in: a watcher belongs to one reader, open one each"
                .formatted(Thread.currentThread().getName(), reader.getName()));
      }
      reader = Thread.currentThread();
    }
  }

  private void leave() {
    synchronized (state) {
      reader = null;
    }
  }

  private void requireOpenNow() {
    synchronized (state) {
      requireOpen();
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new WatcherClosedException("this watcher is closed: open another one with watch()");
    }
  }

  boolean closed() {
    synchronized (state) {
      return closed;
    }
  }

  @Override
  public void close() {
    synchronized (state) {
      closed = true;
    }
    detach();
    calls.gate().unregister(this);
  }

  /** Converts a wait to nanoseconds; one beyond 292 years counts as 292 years. */
  private static long nanos(Duration within) {
    try {
      return Math.min(within.toNanos(), Long.MAX_VALUE - 1);
    } catch (ArithmeticException tooLong) {
      return within.isNegative() ? 0 : Long.MAX_VALUE - 1;
    }
  }
}
