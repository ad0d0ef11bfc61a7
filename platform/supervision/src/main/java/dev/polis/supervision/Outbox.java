package dev.polis.supervision;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * Queues the tree's messages for listeners and logs. A step posts them under the tree's lock, which
 * determines the order, and delivers them afterwards, so that no foreign code runs under that lock.
 *
 * <p>Each thread delivers up to its own last message. So a thread with many messages delivers them
 * itself, and when a step returns, its messages are delivered.
 */
final class Outbox {
  private record Message(long number, Runnable action) {}

  private final Runnable afterwards;
  private final Consumer<Throwable> onFailure;

  /** The messages; guarded by itself, for moments. */
  private final Queue<Message> messages = new ArrayDeque<>();

  private long posted;

  /**
   * @param afterwards called after each batch of deliveries
   * @param onFailure receives the exceptions of messages
   */
  Outbox(Runnable afterwards, Consumer<Throwable> onFailure) {
    this.afterwards = afterwards;
    this.onFailure = onFailure;
  }

  void post(Runnable action) {
    synchronized (messages) {
      messages.add(new Message(++posted, action));
    }
  }

  /** Returns the number of the latest message, for {@link #deliver}. */
  long posted() {
    synchronized (messages) {
      return posted;
    }
  }

  /** Delivers all undelivered messages up to a number. */
  synchronized void deliver(long upTo) {
    boolean any = false;
    for (Runnable next = next(upTo); next != null; next = next(upTo)) {
      contained(next);
      any = true;
    }
    if (any) {
      contained(afterwards);
    }
  }

  private Runnable next(long upTo) {
    synchronized (messages) {
      Message first = messages.peek();
      return first == null || first.number() > upTo ? null : messages.remove().action();
    }
  }

  private void contained(Runnable action) {
    try {
      action.run();
    } catch (Throwable failure) {
      onFailure.accept(failure);
    }
  }
}
