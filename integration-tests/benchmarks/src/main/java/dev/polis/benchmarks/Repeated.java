package dev.polis.benchmarks;

import dev.polis.etcd.EtcdException;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes a call again after each failure, as clients of a cluster do while its leader is replaced.
 * The time of the failures counts.
 */
final class Repeated implements Load.Call {

  /** Many times the replacement of a leader. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  /** The pause after a failure, which leaves the processors to the servers. */
  private static final Duration BREATH = Duration.ofMillis(10);

  private final Load.Call call;
  private final AtomicLong failures = new AtomicLong();

  private Repeated(Load.Call call) {
    this.call = call;
  }

  static Repeated of(Load.Call call) {
    return new Repeated(call);
  }

  /** Returns the number of failures so far. */
  long failures() {
    return failures.get();
  }

  @Override
  public void run(int caller) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      try {
        call.run(caller);
        return;
      } catch (EtcdException
          | StatusException
          | StatusRuntimeException
          | ExecutionException failure) {
        failures.incrementAndGet();
        if (System.nanoTime() > end) {
          throw new TimeoutException(
              "a call failed for %d s; the last time: %s"
                  .formatted(PATIENCE.toSeconds(), failure.getMessage()));
        }
        IdleBenchmark.pass(BREATH);
      }
    }
  }
}
