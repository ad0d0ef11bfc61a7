package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Calls foreign code, which may throw, hang, loop or take minutes, on a separate thread. */
final class LimitedCall {
  /**
   * The time for interrupted code to end: long for code that handles interrupts, short for a
   * person.
   */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** The prefix of its threads' names. */
  static final String PREFIX = "swap-";

  /** The interval between measurements of memory; a measurement takes microseconds. */
  static final Duration MEASURE = Duration.ofMillis(20);

  private LimitedCall() {}

  /** Is the code to call. */
  @FunctionalInterface
  interface Action {
    void run() throws Exception;
  }

  /** Reports that a call was still running at its limit. */
  static final class OverdueException extends Exception {
    private static final long serialVersionUID = 1;

    OverdueException(String message) {
      super(message);
    }
  }

  /** Reports that a call threw; its message describes the root cause. */
  static final class FailedException extends Exception {
    private static final long serialVersionUID = 1;

    FailedException(String message) {
      super(message);
    }
  }

  /** Calls code that returns nothing, as the other method does. */
  static void call(String name, Duration limit, Action action)
      throws OverdueException, FailedException, InterruptedException {
    call(
        name,
        limit,
        Optional::empty,
        () -> {
          action.run();
          return name;
        });
  }

  /**
   * Calls the code and waits for its end, and ends the call at an excessive use.
   *
   * @param name the suffix of the thread's name
   * @param limit the time after which the call is interrupted
   * @param excess describes an excessive use
   * @return the result of the call
   * @throws OverdueException if it did not end within the limit or used too much; the message
   *     states whether its thread still runs
   * @throws FailedException if it throws
   * @throws InterruptedException if this thread is interrupted; the call is interrupted too
   */
  static <T> T call(
      String name, Duration limit, Supplier<Optional<String>> excess, Callable<T> call)
      throws OverdueException, FailedException, InterruptedException {
    FutureTask<T> task = new FutureTask<>(() -> described(call));
    // Not a virtual thread, since a loop would keep one of the few carriers for ever.
    Thread thread = Thread.ofPlatform().name(PREFIX + name).daemon().start(task);
    long deadline = System.nanoTime() + limit.toNanos();
    try {
      while (true) {
        long rest = Math.min(MEASURE.toNanos(), deadline - System.nanoTime());
        try {
          return task.get(Math.max(1, rest), TimeUnit.NANOSECONDS);
        } catch (TimeoutException underWay) {
          requireWithin(limit, deadline, excess, thread);
        } catch (ExecutionException e) {
          throw new FailedException(e.getCause().getMessage());
        }
      }
    } catch (InterruptedException e) {
      thread.interrupt();
      thread.join(GRACE);
      throw e;
    }
  }

  /**
   * Describes a failure on the thread of the call, since a foreign exception is foreign code too:
   * its message may take as long as the call.
   */
  private static <T> T described(Callable<T> call) throws FailedException {
    try {
      return call.call();
    } catch (Throwable e) {
      throw new FailedException(text(e));
    }
  }

  private static String text(Throwable e) {
    try {
      return RootCauses.of(e);
    } catch (Throwable unprintable) {
      return "%s, whose message cannot be read".formatted(e.getClass().getName());
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

  /** Interrupts a thread and describes the result. */
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
