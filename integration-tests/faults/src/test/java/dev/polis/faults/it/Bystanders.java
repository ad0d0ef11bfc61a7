package dev.polis.faults.it;

import io.grpc.CallOptions;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Calls a node correctly while others attack it, and requires answers. */
final class Bystanders implements AutoCloseable {

  private static final int PAUSE_MILLISECONDS = 50;
  private static final int CALL_SECONDS = 60;

  private final ScheduledExecutorService threads = Executors.newScheduledThreadPool(2);
  private final AtomicInteger answered = new AtomicInteger();
  private final AtomicInteger again = new AtomicInteger();
  private final AtomicLong longest = new AtomicLong();
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();

  private Bystanders() {}

  /** Starts strangers that request the CA, and an owner that lists the bundles. */
  static Bystanders of(FaultNode node) throws Exception {
    Bystanders all = new Bystanders();
    all.call(
        node.dial(node.asNobody(), FaultNode.CURATOR),
        FuzzMethod.named("metropolis.node.core.curator.proto.api.CuratorLocal/GetCACertificate"));
    all.call(
        node.dial(node.asOwner(), FaultNode.MANAGEMENT),
        FuzzMethod.named("polis.node.plugins.Plugins/List"));
    return all;
  }

  private void call(ManagedChannel channel, FuzzMethod method) {
    threads.scheduleWithFixedDelay(
        () -> once(channel, method), 0, PAUSE_MILLISECONDS, TimeUnit.MILLISECONDS);
  }

  private void once(ManagedChannel channel, FuzzMethod method) {
    long started = System.nanoTime();
    try {
      answer(channel, method, Deadline.after(CALL_SECONDS, TimeUnit.SECONDS));
      answered.incrementAndGet();
      longest.accumulateAndGet(System.nanoTime() - started, Math::max);
    } catch (RuntimeException e) {
      failure.compareAndSet(null, e);
    }
  }

  /**
   * Calls again after a lost connection: a starved machine may exceed the five seconds of a ping.
   */
  private void answer(ManagedChannel channel, FuzzMethod method, Deadline deadline) {
    CallOptions options = CallOptions.DEFAULT.withDeadline(deadline).withWaitForReady();
    while (true) {
      try {
        ClientCalls.blockingUnaryCall(channel, method.call(), options, new byte[0]);
        return;
      } catch (StatusRuntimeException lost) {
        if (lost.getStatus().getCode() != Status.Code.UNAVAILABLE) {
          throw lost;
        }
        again.incrementAndGet();
      }
    }
  }

  /** Fails with the first call without an answer. */
  void check(String during) {
    if (failure.get() != null) {
      throw new AssertionError("a caller was disturbed by " + during, failure.get());
    }
  }

  /** Counts the answers to both callers together. */
  int answered() {
    return answered.get();
  }

  /** Returns the time of the slowest answer, with all its attempts. */
  Duration longest() {
    return Duration.ofNanos(longest.get());
  }

  @Override
  public String toString() {
    return "%d answers, each within %d ms, %d calls made again"
        .formatted(answered.get(), TimeUnit.NANOSECONDS.toMillis(longest.get()), again.get());
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
