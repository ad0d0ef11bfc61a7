package dev.polis.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;

/**
 * Runs a closed loop of callers, each of which makes its next call when it has the answer to the
 * last one.
 */
final class Load {

  /** A call; any exception is a failure and ends the benchmark. */
  @FunctionalInterface
  interface Call {
    void run(int caller) throws Exception;
  }

  /**
   * The results of one load.
   *
   * @param perSecond answers per second of all callers together
   */
  record Outcome(double perSecond, Latencies latencies) {
    static Outcome merge(List<Outcome> rounds) {
      return new Outcome(
          rounds.stream().mapToDouble(Outcome::perSecond).average().orElseThrow(),
          Latencies.merge(rounds.stream().map(Outcome::latencies).toList()));
    }
  }

  private Load() {}

  static Outcome run(int callers, Duration time, Call call)
      throws InterruptedException, ExecutionException {
    long begin = System.nanoTime();
    long end = begin + time.toNanos();
    List<Future<LongStream>> running = new ArrayList<>();
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < callers; i++) {
        int caller = i;
        running.add(executor.submit(() -> loop(caller, end, call)));
      }
    }
    double seconds = (System.nanoTime() - begin) / 1e9;
    LongStream all = LongStream.empty();
    for (Future<LongStream> one : running) {
      all = LongStream.concat(all, one.get());
    }
    Latencies latencies = Latencies.of(all);
    return new Outcome(latencies.count() / seconds, latencies);
  }

  private static LongStream loop(int caller, long end, Call call) throws Exception {
    LongStream.Builder nanos = LongStream.builder();
    long before = System.nanoTime();
    while (before < end) {
      call.run(caller);
      long after = System.nanoTime();
      nanos.add(after - before);
      before = after;
    }
    return nanos.build();
  }
}
