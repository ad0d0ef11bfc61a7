package dev.polis.resolver;

import dev.polis.logtree.Log;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Repeats calls after pauses that grow with each failure. All loops of a resolver share one
 * instance, so that {@link #hurry} ends all their pauses. Safe for any thread.
 */
final class RetryLoop {
  /** The first pause after a failure; each further one is half as long again. */
  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);

  /** The longest pause: what a cluster that comes back may cost its clients. */
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

  private static final double GROWTH = 1.5;

  private final Log log;

  // Guarded by this.
  private long hurries;

  RetryLoop(Log log) {
    this.log = log;
  }

  /** A call that may fail. */
  @FunctionalInterface
  interface Attempt {
    /** Makes the call; returns whether it was of use. */
    boolean run();
  }

  /**
   * Repeats an attempt until the thread is interrupted.
   *
   * @param what names it in the log
   */
  void untilInterrupted(String what, Attempt attempt) {
    Context.CancellableContext own = Context.ROOT.withCancellation();
    Context previous = own.attach();
    try {
      Duration pause = FIRST_PAUSE;
      while (!Thread.currentThread().isInterrupted()) {
        pause = succeeds(what, attempt) ? FIRST_PAUSE : longer(pause);
        pause(pause);
      }
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    } finally {
      own.detach(previous);
      own.cancel(null);
    }
  }

  private boolean succeeds(String what, Attempt attempt) {
    try {
      return attempt.run();
    } catch (StatusRuntimeException failure) {
      log.v(1).info("%s: %s", what, failure.getMessage());
      return false;
    } catch (RuntimeException unexpected) {
      // An answer that nobody foresaw must not end the loop.
      log.warning("%s cannot be used: %s", what, unexpected, unexpected);
      return false;
    }
  }

  private static Duration longer(Duration pause) {
    long millis = (long) (pause.toMillis() * GROWTH);
    return Duration.ofMillis(Math.min(millis, LONGEST_PAUSE.toMillis()));
  }

  /** Waits for up to a quarter less than the pause, so that clients do not come all at once. */
  private synchronized void pause(Duration most) throws InterruptedException {
    long millis = most.toMillis();
    long spread = ThreadLocalRandom.current().nextLong(millis / 4 + 1);
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis - spread);
    long before = hurries;
    while (hurries == before && end - System.nanoTime() > 0) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
  }

  /** Ends all pauses. */
  synchronized void hurry() {
    hurries++;
    notifyAll();
  }
}
