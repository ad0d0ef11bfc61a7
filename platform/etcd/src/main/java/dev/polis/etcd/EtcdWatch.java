package dev.polis.etcd;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Follows a range of keys, revision by revision. It delivers each change once, in order, with all
 * changes of one revision together, despite failures of streams and members. Its reader should be
 * one thread; {@link #close()} may come from any.
 */
public final class EtcdWatch implements AutoCloseable {

  private final Deque<Item> queue = new ArrayDeque<>();
  private final EtcdConnection connection;
  private final WatchSubscription subscription;
  private final Runnable onClose;
  private int changes;
  private boolean closed;
  private volatile long revision;

  /** Holds an update, or a failure that a call throws in its place. */
  private sealed interface Item {
    record Update(WatchUpdate update) implements Item {}

    record Failure(EtcdException exception) implements Item {}
  }

  EtcdWatch(
      EtcdConnection connection,
      Wire wire,
      KeyRange range,
      WatchOptions options,
      WatchOptions.Start start,
      Consumer<EtcdWatch> onClose) {
    this.connection = connection;
    this.onClose = () -> onClose.accept(this);
    this.subscription = new WatchSubscription(wire, range, options, new Queue(), start);
    this.revision = Math.max(0, subscription.nextRevision - 1);
  }

  void open() {
    connection.watches().add(subscription);
  }

  /**
   * Waits for the next update.
   *
   * @throws EtcdPermissionException if etcd denies the range; the watch is tried again and may
   *     succeed later
   * @throws EtcdClosedException if the watch or its client is closed
   */
  public synchronized WatchUpdate next() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it waited");
    }
    while (queue.isEmpty()) {
      requireOpen();
      wait();
    }
    return take();
  }

  /**
   * Waits for the next update, for a limited time.
   *
   * @throws TimeoutException if none came; the watch stays usable
   */
  public synchronized WatchUpdate next(Duration within)
      throws InterruptedException, TimeoutException {
    long end = System.nanoTime() + within.toNanos();
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it waited");
    }
    while (queue.isEmpty()) {
      requireOpen();
      if (end - System.nanoTime() <= 0) {
        throw new TimeoutException(
            "no update of " + subscription.range + " within " + within + " after " + revision);
      }
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    return take();
  }

  /** Returns the revision up to which all changes were returned; a successor begins after it. */
  public long revision() {
    return revision;
  }

  /** Asks etcd for a bookmark, which comes once all earlier changes have been delivered. */
  public void requestProgress() {
    connection.watches().requestProgress();
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      queue.clear();
      notifyAll();
    }
    connection.watches().remove(subscription);
    onClose.run();
  }

  private void requireOpen() {
    if (closed) {
      throw new EtcdClosedException("the watch of " + subscription.range + " is closed", null);
    }
  }

  private WatchUpdate take() {
    return switch (queue.remove()) {
      case Item.Failure(EtcdException exception) -> throw exception;
      case Item.Update(WatchUpdate update) -> {
        revision = update.revision();
        if (update instanceof WatchUpdate.Changes(long at, var events)) {
          int resumeAt = subscription.options.buffer() / 2;
          boolean wasAbove = changes > resumeAt;
          changes -= events.size();
          if (wasAbove && changes <= resumeAt) {
            // Outside this lock: the streams take theirs first.
            connection.later(0, this::resumeIfRoom);
          }
        }
        yield update;
      }
    };
  }

  private void resumeIfRoom() {
    connection.watches().resume(subscription);
  }

  private boolean isFull() {
    return changes >= subscription.options.buffer();
  }

  private final class Queue implements WatchSubscription.Sink {

    @Override
    public void deliver(WatchUpdate update) {
      synchronized (EtcdWatch.this) {
        if (closed) {
          return;
        }
        queue.add(new Item.Update(update));
        if (update instanceof WatchUpdate.Changes(long at, var events)) {
          changes += events.size();
        }
        EtcdWatch.this.notifyAll();
      }
    }

    @Override
    public void fail(EtcdException failure) {
      synchronized (EtcdWatch.this) {
        if (!closed && !(queue.peekLast() instanceof Item.Failure)) {
          queue.add(new Item.Failure(failure));
          EtcdWatch.this.notifyAll();
        }
      }
    }

    @Override
    public boolean isFull() {
      synchronized (EtcdWatch.this) {
        return EtcdWatch.this.isFull();
      }
    }
  }
}
