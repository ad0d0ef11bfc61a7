package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Calls code that is not ours, which may throw, hang, loop or take minutes, on a thread of its own.
 */
final class LimitedCall {
  /** How long interrupted code may take to end: long for code that listens, short for a person. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** How the names of its threads begin. */
  static final String PREFIX = "swap-";

  /**
   * How often the use of memory is measured: a plugin that fills a heap of some ten megabytes takes
   * longer for it, and a measurement takes microseconds.
   */
  private static final Duration MEASURE = Duration.ofMillis(20);

  private LimitedCall() {}

  /** Reports that a call was still under way when its time was over. */
  static final class OverdueException extends Exception {
    private static final long serialVersionUID = 1;

    OverdueException(String message) {
      super(message);
    }
  }

  /**
   * Calls and waits.
   *
   * @param name what it is about, which ends the thread's name
   * @param limit after which the call is interrupted
   * @return what the call returns
   * @throws OverdueException if it did not end within the limit; says whether its thread runs on
   * @throws ExecutionException if it throws, with the cause
   * @throws InterruptedException if this thread is interrupted; the call is interrupted too
   */
  static <T> T call(String name, Duration limit, Callable<T> call)
      throws OverdueException, ExecutionException, InterruptedException {
    return call(name, limit, Optional::empty, call);
  }

  /**
   * Calls and waits, and ends the call when it uses too much.
   *
   * @param name what it is about, which ends the thread's name
   * @param limit after which the call is interrupted
   * @param excess says what there is too much of
   * @return what the call returns
   * @throws OverdueException if it did not end within the limit or used too much; says whether its
   *     thread runs on
   * @throws ExecutionException if it throws, with the cause
   * @throws InterruptedException if this thread is interrupted; the call is interrupted too
   */
  static <T> T call(
      String name, Duration limit, Supplier<Optional<String>> excess, Callable<T> call)
      throws OverdueException, ExecutionException, InterruptedException {
    FutureTask<T> task = new FutureTask<>(call);
    // Not a virtual thread: a loop would keep one of the few carriers for ever.
    Thread thread = Thread.ofPlatform().name(PREFIX + name).daemon().start(task);
    long deadline = System.nanoTime() + limit.toNanos();
    try {
      while (true) {
        long rest = Math.min(MEASURE.toNanos(), deadline - System.nanoTime());
        try {
          return task.get(Math.max(1, rest), TimeUnit.NANOSECONDS);
        } catch (TimeoutException underWay) {
          requireWithin(limit, deadline, excess, thread);
        }
      }
    } catch (InterruptedException e) {
      thread.interrupt();
      thread.join(GRACE);
      throw e;
    }
  }

  private static void requireWithin(
      Duration limit, long deadline, Supplier<Optional<String>> excess, Thread thread)
      throws OverdueException, InterruptedException {
    Optional<String> tooMuch = excess.get();
    if (tooMuch.isPresent()) {
      throw new OverdueException(tooMuch.get() + end(thread));
    }
    if (System.nanoTime() >= deadline) {
      throw new OverdueException("it took longer than " + Spans.text(limit) + end(thread));
    }
  }

  /** Interrupts a thread and says what came of it. */
  private static String end(Thread thread) throws InterruptedException {
    StackTraceElement[] stack = thread.getStackTrace();
    thread.interrupt();
    thread.join(GRACE);
    String where = stack.length == 0 ? "" : " (it was at " + stack[0] + ")";
    return thread.isAlive()
        ? where
            + "; its thread \""
            + thread.getName()
            + "\" does not end when interrupted and runs until the process is restarted"
        : where;
  }
}
