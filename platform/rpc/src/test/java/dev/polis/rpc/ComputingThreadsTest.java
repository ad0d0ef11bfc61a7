package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.logtree.LogTree;
import io.grpc.Status;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ComputingThreadsTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  private final AtomicInteger running = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  private ComputingThreads threads = new ComputingThreads(LogTree.create().log("computing"), LONG);

  @AfterEach
  void close() {
    threads.close();
  }

  /** Keeps a processor busy until it is interrupted. */
  private Void burn() throws InterruptedException {
    running.incrementAndGet();
    try {
      while (!Thread.interrupted()) {
        Thread.onSpinWait();
      }
      throw new InterruptedException("the caller has left");
    } finally {
      ended.incrementAndGet();
    }
  }

  /** Makes a call on a virtual thread, as the host does. */
  private record Call(Thread thread, FutureTask<Void> result) {
    Status.Code refusal() {
      ExecutionException failure = assertThrows(ExecutionException.class, result::get);
      return ((RpcException) failure.getCause()).code();
    }
  }

  private Call call() {
    FutureTask<Void> result = new FutureTask<>(() -> threads.run(this::burn));
    return new Call(Thread.startVirtualThread(result), result);
  }

  private List<Call> calls(int count) {
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      calls.add(call());
    }
    return calls;
  }

  private void awaitFull() throws Exception {
    Await.until(
        "all threads to compute", () -> running.get() - ended.get() == ComputingThreads.THREADS);
  }

  @Test
  @DisplayName(
      "a virtual thread answers within a second while twice as many calls as there are processors compute")
  void virtualThreadsStayFree() throws Exception {
    List<Call> calls = calls(2 * Runtime.getRuntime().availableProcessors());
    awaitFull();
    MachineSpeed speed = MachineSpeed.measure();
    Duration slowest = Duration.ZERO;
    for (int i = 0; i < 20; i++) {
      long began = System.nanoTime();
      FutureTask<Boolean> heartbeat = new FutureTask<>(() -> true);
      Thread.startVirtualThread(heartbeat);
      assertTrue(heartbeat.get());
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      slowest = took.compareTo(slowest) > 0 ? took : slowest;
    }
    speed.assertWithin("a virtual thread answered", Duration.ofSeconds(1), slowest);
    assertTrue(calls.stream().noneMatch(call -> call.result().isDone()));
  }

  @Test
  @DisplayName("computations have a low priority")
  void lowPriority() throws Exception {
    String stat = threads.run(() -> stat());
    // The 17th column after the name is the niceness.
    assertEquals("10", stat.substring(stat.lastIndexOf(')') + 1).split(" ")[17]);
  }

  private static String stat() {
    try {
      return Files.readString(Path.of("/proc/thread-self/stat"));
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  @DisplayName("a caller that leaves ends its computation, and the next one gets the thread")
  void leavingEndsTheWork() throws Exception {
    List<Call> calls = calls(ComputingThreads.THREADS);
    awaitFull();
    calls.getFirst().thread().interrupt();
    assertThrows(ExecutionException.class, () -> calls.getFirst().result().get());
    Await.until("its computation to end", () -> ended.get() == 1);
    assertEquals("next", threads.run(() -> "next"));
  }

  @Test
  @DisplayName("a caller that leaves while it waits for a thread causes no work")
  void leavingWhileWaiting() throws Exception {
    calls(ComputingThreads.THREADS);
    awaitFull();
    for (int i = 0; i < 3 * ComputingThreads.WAITING; i++) {
      Call waiting = call();
      waiting.thread().interrupt();
      ExecutionException left = assertThrows(ExecutionException.class, waiting.result()::get);
      assertTrue(left.getCause() instanceof InterruptedException, left::toString);
    }
    assertEquals(ComputingThreads.THREADS, running.get());
  }

  @Test
  @DisplayName(
      "calls beyond the limit of waiting ones are refused at once, with a time to call again")
  void tooManyAreRefused() throws Exception {
    calls(ComputingThreads.THREADS);
    awaitFull();
    List<Call> calls = calls(ComputingThreads.WAITING + 3);
    Await.until(
        "three calls to be refused",
        () -> calls.stream().filter(call -> call.result().isDone()).count() == 3);
    for (Call call : calls.stream().filter(each -> each.result().isDone()).toList()) {
      assertEquals(Status.Code.UNAVAILABLE, call.refusal());
    }
  }

  @Test
  @DisplayName("a call that gets no thread in time is refused, and its work never begins")
  void impatience() throws Exception {
    threads.close();
    threads = new ComputingThreads(LogTree.create().log("computing"), Duration.ofMillis(20));
    calls(ComputingThreads.THREADS);
    awaitFull();
    assertEquals(Status.Code.UNAVAILABLE, call().refusal());
    assertEquals(ComputingThreads.THREADS, running.get());
  }

  @Test
  @DisplayName("closing ends running and waiting computations, and refuses new ones")
  void closing() throws Exception {
    calls(ComputingThreads.THREADS);
    awaitFull();
    List<Call> calls = calls(3);
    Await.until("three calls to wait", () -> threads.waiting() == 3);
    threads.close();
    for (Call call : calls) {
      assertEquals(Status.Code.UNAVAILABLE, call.refusal());
    }
    Await.until("the computations to end", () -> ended.get() == running.get());
    RpcException refused = assertThrows(RpcException.class, () -> threads.run(() -> 1));
    assertEquals(Status.Code.UNAVAILABLE, refused.code());
  }

  @Test
  @DisplayName("a failure reaches the caller unchanged, and the next call is served")
  void failures() throws Exception {
    RpcException refusal = RpcException.invalid("no");
    CountDownLatch ran = new CountDownLatch(1);
    assertEquals(
        refusal,
        assertThrows(
            RpcException.class,
            () ->
                threads.run(
                    () -> {
                      throw refusal;
                    })));
    threads.run(
        () -> {
          ran.countDown();
          return null;
        });
    assertEquals(0, ran.getCount());
    assertFalse(Thread.interrupted());
  }
}
