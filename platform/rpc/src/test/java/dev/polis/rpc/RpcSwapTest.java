package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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

/** Replaces a service side by side, again and again, while it is called at full speed. */
@Timeout(240)
final class RpcSwapTest {
  private static final int SWAPS = Integer.getInteger("polis.swaps", 200);
  private static final int CALLERS = 8;
  private static final int FOLLOWERS = 4;

  private final Queue<String> troubles = new ConcurrentLinkedQueue<>();
  private final Queue<Long> times = new ConcurrentLinkedQueue<>();
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
              LockSupport.parkNanos(100_000);
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
      for (int swap = 0; swap < SWAPS; swap++) {
        CallStreams next = new CallStreams();
        RpcRegistration follows = fixture.host.serve(RpcHost.CURATOR, new Version(next));
        served.close();
        present.close();
        assertEquals(0, present.open(), "streams of a service that was replaced");
        present = next;
        served = follows;
        // So that calls are made in between.
        LockSupport.parkNanos(1_000_000);
      }
      over = true;
      served.close();
      present.close();
      fixture.host.serve(RpcHost.CURATOR, new Version(new CallStreams()));
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(List.of(), troubles.stream().limit(5).toList());
      List<Long> sorted = times.stream().sorted().toList();
      assertTrue(sorted.size() > SWAPS, "the service was not used");
      System.out.printf(
          "%d swaps, %d unary calls, 0 failed, %d streams; a call: p50 %.2f ms, p99 %.2f ms, worst %.1f ms%n",
          SWAPS,
          sorted.size(),
          streams.get(),
          sorted.get(sorted.size() / 2) / 1e6,
          sorted.get(sorted.size() * 99 / 100) / 1e6,
          sorted.getLast() / 1e6);
    }
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
      times.add(System.nanoTime() - start);
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
