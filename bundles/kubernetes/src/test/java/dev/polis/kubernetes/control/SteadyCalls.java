package dev.polis.kubernetes.control;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Makes a call at a steady rate, and notes those that failed. While many are under way no others
 * are begun. Closing waits for those under way.
 */
final class SteadyCalls implements AutoCloseable {

  /** Fails if it is not answered as wanted. */
  @FunctionalInterface
  interface Call {
    void make(int number) throws Exception;
  }

  /** An API server takes a hundred at once over one connection, which two of these may share. */
  private static final int MOST = 40;

  private final String what;
  private final Call call;
  private final ScheduledExecutorService pace = Executors.newSingleThreadScheduledExecutor();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final AtomicInteger answered = new AtomicInteger();
  private final AtomicInteger begun = new AtomicInteger();
  private final Semaphore free = new Semaphore(MOST);
  private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

  private SteadyCalls(String what, Call call) {
    this.what = what;
    this.call = call;
  }

  /** Begins to call. */
  static SteadyCalls every(Duration pause, String what, Call call) {
    SteadyCalls calls = new SteadyCalls(what, call);
    calls.pace.scheduleAtFixedRate(calls::begin, 0, pause.toMillis(), TimeUnit.MILLISECONDS);
    return calls;
  }

  private void begin() {
    if (free.tryAcquire()) {
      threads.submit(this::once);
    }
  }

  private void once() {
    int number = begun.incrementAndGet();
    try {
      call.make(number);
      answered.incrementAndGet();
    } catch (Exception | AssertionError failed) {
      failures.add("%s: %s %d: %s".formatted(Instant.now(), what, number, failed));
    } finally {
      free.release();
    }
  }

  /** Returns what failed so far. */
  List<String> failures() {
    return List.copyOf(failures);
  }

  /** Returns how many were answered so far. */
  int answered() {
    return answered.get();
  }

  @Override
  public void close() {
    pace.shutdownNow();
    threads.close();
  }
}
