package dev.polis.rpc;

import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** Counts the calls of one method on one listener. */
final class CallCounters {
  private final AtomicLongArray codes = new AtomicLongArray(Status.Code.values().length);
  private final AtomicLongArray buckets = new AtomicLongArray(RpcStatistics.BUCKETS.size() + 1);
  private final LongAdder active = new LongAdder();
  private final LongAdder nanos = new LongAdder();
  private final LongAdder held = new LongAdder();
  private final LongAdder drained = new LongAdder();

  void started() {
    active.increment();
  }

  void held() {
    held.increment();
  }

  void drained() {
    drained.increment();
  }

  void finished(Status.Code code, Duration time) {
    active.decrement();
    codes.incrementAndGet(code.ordinal());
    nanos.add(time.toNanos());
    buckets.incrementAndGet(bucket(time));
  }

  private static int bucket(Duration time) {
    double seconds = time.toNanos() / 1e9;
    int bucket = 0;
    while (bucket < RpcStatistics.BUCKETS.size() && seconds > RpcStatistics.BUCKETS.get(bucket)) {
      bucket++;
    }
    return bucket;
  }

  RpcStatistics.Method snapshot(String listener, String method) {
    Map<Status.Code, Long> outcomes = new EnumMap<>(Status.Code.class);
    for (Status.Code code : Status.Code.values()) {
      long count = codes.get(code.ordinal());
      if (count > 0) {
        outcomes.put(code, count);
      }
    }
    List<Long> times = new ArrayList<>();
    for (int i = 0; i < buckets.length(); i++) {
      times.add(buckets.get(i));
    }
    return new RpcStatistics.Method(
        listener,
        method,
        active.sum(),
        outcomes,
        nanos.sum() / 1e9,
        times,
        held.sum(),
        drained.sum());
  }
}
