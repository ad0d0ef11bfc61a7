package dev.polis.rpc.resolver;

import dev.polis.base.backoff.Backoff;
import dev.polis.logtree.Log;
import dev.polis.pki.WrongNodeException;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Repeats calls after pauses that grow with each failure. All loops of a resolver share one
 * instance, so that {@link #hurry} ends all their pauses. Safe for any thread.
 */
final class RetryLoop {
  // A new leader is there within a few hundred milliseconds.
  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);

  // The longest pause, which limits the load of clients on a restarting cluster.
  static final Duration LONGEST_PAUSE = Duration.ofSeconds(7);

  private final Log log;

  // Guarded by this.
  private long hurries;

  RetryLoop(Log log) {
    this.log = log;
  }

  /** Makes a call that may fail. */
  @FunctionalInterface
  interface Attempt {
    /** Makes the call; returns whether it was useful. */
    boolean run();
  }

  /**
   * Repeats an attempt until the thread is interrupted.
   *
   * @param what the name of the attempt in the log
   */
  void untilInterrupted(String what, Attempt attempt) {
    Context.CancellableContext own = Context.ROOT.withCancellation();
    Context previous = own.attach();
    try {
      Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
      while (!Thread.currentThread().isInterrupted()) {
        if (succeeds(what, attempt)) {
          backoff.reset();
        }
        pause(backoff.next());
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
      Optional<WrongNodeException> stranger = wrongNode(failure);
      if (stranger.isPresent()) {
        log.warning("%s: %s", what, stranger.get().getMessage());
      } else {
        log.v(1).info("%s: %s", what, failure.getMessage());
      }
      return false;
    } catch (RuntimeException unexpected) {
      // An unforeseen answer must not end the loop.
      log.warning("%s cannot be used: %s", what, unexpected, unexpected);
      return false;
    }
  }

  private static Optional<WrongNodeException> wrongNode(StatusRuntimeException failure) {
    return Stream.iterate(failure.getCause(), Objects::nonNull, Throwable::getCause)
        .filter(WrongNodeException.class::isInstance)
        .map(WrongNodeException.class::cast)
        .findFirst();
  }

  /** Waits until the pause is over or {@link #hurry} ends it. */
  private synchronized void pause(Duration pause) throws InterruptedException {
    long end = System.nanoTime() + pause.toNanos();
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
