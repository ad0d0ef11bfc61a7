package dev.polis.handover.following;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets the calls of one contract through to the present provider, makes them wait, or refuses them.
 * Thread-safe; a call that need not wait takes no lock.
 */
final class CallGate {
  /** A wait without a limit, in nanoseconds. */
  static final long FOR_EVER = Long.MAX_VALUE;

  private sealed interface Passage {}

  /** Calls go to a provider. */
  private record Open(ProviderCalls calls) implements Passage {}

  /** A provider gives its state away: its values are read, and calls wait, for the reason given. */
  private record GivenAway(ProviderCalls calls, String why) implements Passage {}

  /** The provider has not been asked for its object; its first user does that. */
  private record Unasked() implements Passage {}

  /** Calls wait, for the reason given. */
  private record Held(String why) implements Passage {}

  /** Calls are refused, for the reason given. */
  private record Closed(String why) implements Passage {}

  private final String contract;
  private final Duration patience;
  private final Runnable waitingChanged;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock. Weak: who forgets a watcher does not close it.
  private final Set<FollowedWatcher<?>> watchers = Collections.newSetFromMap(new WeakHashMap<>());
  private volatile int waiting;

  /** The provider that calls go to or went to last; null if it is not held any more. */
  private volatile ProviderCalls latest;

  private volatile Passage passage = new Closed("no bundle has provided it yet");

  /**
   * Creates a gate that refuses calls.
   *
   * @param contract what is called, for messages
   * @param patience how long a call waits at most
   * @param waitingChanged called without locks when another number of calls waits
   */
  CallGate(String contract, Duration patience, Runnable waitingChanged) {
    this.contract = contract;
    this.patience = patience;
    this.waitingChanged = waitingChanged;
  }

  // ---- calls

  /**
   * Counts a call in, after waiting for a provider if calls are held.
   *
   * @param method what is called, for messages
   * @return the provider to call; {@link #leave} follows
   * @throws ServiceAwayException if calls are refused, or the wait takes too long
   * @throws InterruptedException if interrupted while waiting
   */
  ProviderCalls enter(String method) throws InterruptedException {
    return enter(method, false);
  }

  /**
   * Counts in a call that only reads a value. It need not wait for a provider that has given its
   * state away, since what that has published stays.
   *
   * @param method what is called, for messages
   * @return the provider to call; {@link #leave} follows
   * @throws ServiceAwayException if calls are refused, or the wait takes too long
   * @throws InterruptedException if interrupted while waiting
   */
  ProviderCalls enterForValue(String method) throws InterruptedException {
    return enter(method, true);
  }

  private ProviderCalls enter(String method, boolean value) throws InterruptedException {
    while (true) {
      ProviderCalls calls = open(value);
      if (calls == null) {
        await(method, value);
      } else if (calls.enter()) {
        return calls;
      } else {
        // It is retired: the passage has changed before.
        leave(calls);
      }
    }
  }

  /** Returns the provider that lets a call or the reader of a value in, or null. */
  private ProviderCalls open(boolean value) {
    return switch (passage) {
      case Open(ProviderCalls calls) -> calls;
      case GivenAway(ProviderCalls calls, String _) when value -> calls;
      case GivenAway _, Unasked _, Held _, Closed _ -> null;
    };
  }

  void leave(ProviderCalls calls) {
    if (calls.leave()) {
      wake();
    }
  }

  private void await(String method, boolean value) throws InterruptedException {
    count(1);
    try {
      lock.lockInterruptibly();
      try {
        long left = patience.toNanos();
        while (open(value) == null) {
          if (passage instanceof Closed(String why)) {
            throw new ServiceAwayException(
                "%s.%s cannot be called: %s".formatted(contract, method, why));
          }
          if (left <= 0) {
            throw new ServiceAwayException(
                "%s.%s waited %d s for a provider: %s; call again, polisctl plugin graph shows its provider"
                    .formatted(contract, method, patience.toSeconds(), reason()));
          }
          left = changed.awaitNanos(left);
        }
      } finally {
        lock.unlock();
      }
    } finally {
      count(-1);
    }
  }

  private String reason() {
    return switch (passage) {
      case Open open -> "it is there now";
      case GivenAway(ProviderCalls _, String why) -> why;
      case Unasked unasked -> "its component has not been activated";
      case Held(String why) -> why;
      case Closed(String why) -> why;
    };
  }

  private void count(int change) {
    lock.lock();
    try {
      waiting += change;
    } finally {
      lock.unlock();
    }
    waitingChanged.run();
  }

  int waiting() {
    return waiting;
  }

  // ---- watchers

  void register(FollowedWatcher<?> watcher) {
    lock.lock();
    try {
      watchers.add(watcher);
    } finally {
      lock.unlock();
    }
  }

  void unregister(FollowedWatcher<?> watcher) {
    lock.lock();
    try {
      watchers.remove(watcher);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Counts a watcher in like a call. It may wait for ever: that a provider is away is no end of a
   * watch.
   *
   * @param nanos how long to wait at most
   * @return the provider, or null if the time is over or the watcher was closed
   */
  ProviderCalls enter(FollowedWatcher<?> watcher, long nanos) throws InterruptedException {
    while (true) {
      ProviderCalls calls = open(true);
      if (calls == null) {
        if (!awaitOpen(watcher, nanos)) {
          return null;
        }
      } else if (calls.enter()) {
        return calls;
      } else {
        leave(calls);
      }
    }
  }

  private boolean awaitOpen(FollowedWatcher<?> watcher, long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = nanos;
      while (open(true) == null) {
        if (watcher.closed() || left <= 0) {
          return false;
        }
        if (nanos == FOR_EVER) {
          changed.await();
        } else {
          left = changed.awaitNanos(left);
        }
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  // ---- the provider

  /** Returns the provider that calls go to or went to last, or null if there is none. */
  ProviderCalls latest() {
    return latest;
  }

  /** Waits for the first user to ask for the provider's object. */
  void offer() {
    change(new Unasked(), null);
  }

  /** Sends calls to a provider if no user has asked for one before; returns whether it does. */
  boolean openFirst(ProviderCalls first) {
    lock.lock();
    try {
      if (!(passage instanceof Unasked)) {
        return false;
      }
      change(new Open(first), first);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Sends calls and watchers to a provider, and lets those go that wait. */
  void open(ProviderCalls next) {
    change(new Open(next), next);
    watchers().forEach(watcher -> watcher.detachUnless(next));
  }

  /**
   * Makes calls wait while the present provider gives its state away; those under way may end, and
   * its values are read on.
   */
  void giveAway(String why) {
    change(new GivenAway(latest, why), latest);
  }

  /** Makes calls and watchers wait for the next provider. */
  void holdWithout(String why) {
    change(new Held(why), null);
    watchers().forEach(FollowedWatcher::detach);
  }

  /** Refuses calls; watchers wait for the next provider. */
  void close(String why) {
    change(new Closed(why), null);
    watchers().forEach(FollowedWatcher::detach);
  }

  private void change(Passage next, ProviderCalls provider) {
    lock.lock();
    try {
      Passage before = passage;
      passage = next;
      latest = provider;
      // After the passage: a call that the provider refuses looks at the passage again.
      switch (before) {
        case Open(ProviderCalls calls) when !(next instanceof GivenAway) -> calls.retire();
        case GivenAway(ProviderCalls calls, String _) -> calls.retire();
        case Open _, Unasked _, Held _, Closed _ -> {
          // No call has entered, or the calls that have may stay.
        }
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until no call is under way on a provider that was retired.
   *
   * @return whether that is so
   */
  boolean drain(ProviderCalls retired, Duration within) {
    lock.lock();
    try {
      long left = within.toNanos();
      while (retired.underWay() > 0 && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      // The caller must not wait longer; its interrupt is passed on.
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
    return retired.underWay() == 0;
  }

  private void wake() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private List<FollowedWatcher<?>> watchers() {
    lock.lock();
    try {
      return new ArrayList<>(watchers);
    } finally {
      lock.unlock();
    }
  }
}
