package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.GetConsensusStatusResponse;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Replaces a service side by side repeatedly, while it is called at full speed. */
@Timeout(240)
final class RpcSwapTest {
  private static final int SWAPS = Integer.getInteger("polis.swaps", 200);
  private static final int CALLERS = 8;
  private static final int FOLLOWERS = 4;

  /** The number of calls before the measurement. */
  private static final int WARM = 1000;

  /** 2 ms, in nanoseconds, between two messages of a stream, and twice that between two swaps. */
  private static final long PACE = 2_000_000;

  private final Queue<String> troubles = new ConcurrentLinkedQueue<>();
  private final AtomicLong calls = new AtomicLong();
  private final AtomicLong slowest = new AtomicLong();

  /**
   * The time of the latest answer to a unary call, followed by the longest time between two
   * answers.
   */
  private final AtomicLong answered = new AtomicLong();

  private final AtomicLong longest = new AtomicLong();
  private final AtomicLong streams = new AtomicLong();
  private volatile boolean over;

  /** Answers at once, and streams until the streams are closed. */
  private static final class Version extends CuratorGrpc.CuratorImplBase {
    private final CallStreams streams;

    Version(CallStreams streams) {
      this.streams = streams;
    }

    @Override
    public void getConsensusStatus(
        GetConsensusStatusRequest request, StreamObserver<GetConsensusStatusResponse> observer) {
      observer.onNext(GetConsensusStatusResponse.getDefaultInstance());
      observer.onCompleted();
    }

    @Override
    public void watch(WatchRequest request, StreamObserver<WatchEvent> observer) {
      streams.serve(
          "watch",
          observer,
          sink -> {
            while (true) {
              sink.send(WatchEvent.getDefaultInstance());
              LockSupport.parkNanos(PACE);
              if (Thread.interrupted()) {
                throw new InterruptedException("the streams are being closed");
              }
            }
          });
    }
  }

  @Test
  @DisplayName(
      "swaps side by side under load: no unary call fails, streams end with UNAVAILABLE and a delay")
  void noCallFails() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      List<Thread> threads = new ArrayList<>();
      CallStreams present = new CallStreams();
      RpcRegistration served = fixture.host.serve(RpcHost.CURATOR, new Version(present));
      for (int i = 0; i < CALLERS; i++) {
        ManagedChannel channel = fixture.asOwner();
        threads.add(Thread.startVirtualThread(() -> call(channel)));
      }
      for (int i = 0; i < FOLLOWERS; i++) {
        ManagedChannel channel = fixture.asOwner();
        threads.add(Thread.startVirtualThread(() -> follow(channel)));
      }
      // Opens connections, and compiles the code.
      Await.until("the callers to be warm", () -> calls.get() > WARM || !troubles.isEmpty());
      slowest.set(0);
      Serving serving = new Serving(fixture, served, present);
      List<Double> gaps = gaps(serving::swap);
      double slowestOfSwaps = slowest.get() / 1e6;
      List<Double> undisturbed = gaps(() -> {});
      over = true;
      serving.swap();
      for (Thread thread : threads) {
        Await.end(thread);
      }
      assertEquals(List.of(), troubles.stream().limit(5).toList());
      assertTrue(calls.get() > SWAPS, "the service was not used");
      System.out.printf(
          "%d swaps, %d unary calls, 0 failed, %d streams; without an answer: p50 %.2f ms, p99 %.2f ms;"
              + " with nothing replaced: p50 %.2f ms, p99 %.2f ms; slowest call %.1f ms%n",
          SWAPS,
          calls.get(),
          streams.get(),
          gaps.get(SWAPS / 2),
          gaps.get(SWAPS * 99 / 100),
          undisturbed.get(SWAPS / 2),
          undisturbed.get(SWAPS * 99 / 100),
          slowestOfSwaps);
    } finally {
      // Also after a failure, the callers must not call a service that has stopped.
      over = true;
    }
  }

  /** Holds the serving version. */
  private static final class Serving {
    private final RpcFixture fixture;
    private RpcRegistration served;
    private CallStreams streams;

    Serving(RpcFixture fixture, RpcRegistration served, CallStreams streams) {
      this.fixture = fixture;
      this.served = served;
      this.streams = streams;
    }

    void swap() {
      CallStreams next = new CallStreams();
      RpcRegistration follows = fixture.host.serve(RpcHost.CURATOR, new Version(next));
      served.close();
      streams.close();
      assertEquals(0, streams.open(), "streams of a service that was replaced");
      streams = next;
      served = follows;
    }
  }

  /** Returns the longest times without an answer around each step, in milliseconds, sorted. */
  private List<Double> gaps(Runnable step) {
    List<Double> gaps = new ArrayList<>();
    for (int i = 0; i < SWAPS; i++) {
      longest.set(0);
      step.run();
      LockSupport.parkNanos(2 * PACE);
      gaps.add(Math.max(longest.get(), System.nanoTime() - answered.get()) / 1e6);
    }
    gaps.sort(null);
    return gaps;
  }

  private void call(ManagedChannel channel) {
    while (!over) {
      long start = System.nanoTime();
      try {
        CuratorGrpc.newBlockingStub(channel)
            .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance());
      } catch (RuntimeException e) {
        troubles.add("a unary call failed: " + e);
      }
      long now = System.nanoTime();
      calls.incrementAndGet();
      slowest.accumulateAndGet(now - start, Math::max);
      longest.accumulateAndGet(now - answered.getAndSet(now), Math::max);
    }
  }

  private void follow(ManagedChannel channel) {
    while (!over) {
      streams.incrementAndGet();
      try {
        Iterator<WatchEvent> events =
            CuratorGrpc.newBlockingStub(channel).watch(WatchRequest.getDefaultInstance());
        while (events.hasNext() && !over) {
          events.next();
        }
        if (!over) {
          troubles.add("a stream ended by itself");
        }
      } catch (StatusRuntimeException e) {
        if (e.getStatus().getCode() != Status.Code.UNAVAILABLE
            || e.getTrailers() == null
            || !"1000".equals(e.getTrailers().get(RpcException.RETRY_DELAY))) {
          troubles.add("a stream ended with " + e + ", " + e.getTrailers());
        }
      }
    }
  }
}
