package dev.polis.supervision;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * What the tree has to tell others. It is posted under the tree's lock, which gives the order, and
 * delivered after, so that no foreign code runs under the lock. Whoever finds the outbox unattended
 * delivers for all.
 */
final class Outbox {
  private final ConcurrentLinkedQueue<Runnable> messages = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean attended = new AtomicBoolean();
  private final Runnable afterwards;
  private final Consumer<Throwable> onFailure;

  /**
   * @param afterwards called after each batch of deliveries
   * @param onFailure hears what a message throws
   */
  Outbox(Runnable afterwards, Consumer<Throwable> onFailure) {
    this.afterwards = afterwards;
    this.onFailure = onFailure;
  }

  void post(Runnable message) {
    messages.add(message);
  }

  void deliver() {
    // Asked again after leaving: a message may have come when this thread had looked and not yet
    // left.
    while (!messages.isEmpty() && attended.compareAndSet(false, true)) {
      try {
        for (Runnable next = messages.poll(); next != null; next = messages.poll()) {
          contained(next);
        }
        contained(afterwards);
      } finally {
        attended.set(false);
      }
    }
  }

  private void contained(Runnable message) {
    try {
      message.run();
    } catch (Throwable failure) {
      onFailure.accept(failure);
    }
  }
}
