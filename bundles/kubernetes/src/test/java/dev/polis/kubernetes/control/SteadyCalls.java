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
 * Makes calls at a steady rate, and records the failed ones. While many are running it begins no
 * others. Its close waits for the running calls.
 */
final class SteadyCalls implements AutoCloseable {

  /** Makes one call; fails for an unexpected answer. */
  @FunctionalInterface
  interface Call {
    void make(int number) throws Exception;
  }

  /**
   * The most running calls: an API server takes a hundred over one connection, which two of these
   * may share.
   */
  static final int MOST = 40;

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

  /** Begins the calls. */
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

  /** Returns the failures so far. */
  List<String> failures() {
    return List.copyOf(failures);
  }

  /** Returns the number of answered calls so far. */
  int answered() {
    return answered.get();
  }

  @Override
  public void close() {
    pace.shutdownNow();
    threads.close();
  }
}
