package dev.polis.curator.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RequestBatcherTest {

  private static final Duration SOON = Duration.ofSeconds(20);

  private final BlockingQueue<List<String>> begunBatches = new LinkedBlockingQueue<>();
  private final Semaphore permitsToEnd = new Semaphore(0);
  private volatile Consumer<List<NamedRequest>> handler =
      batch -> batch.forEach(request -> request.answer("for " + request.name));
  private final List<Thread> batchThreads = new CopyOnWriteArrayList<>();
  private final RequestBatcher<NamedRequest> batcher =
      new RequestBatcher<>("batcher under test", this::handle);

  private static final class NamedRequest extends RequestBatcher.Request<String> {
    private final String name;

    NamedRequest(String name) {
      this.name = name;
    }
  }

  /** Makes a request on a thread of its own. */
  private final class Caller {
    private final CompletableFuture<String> got = new CompletableFuture<>();
    private final Thread thread;

    Caller(String name) {
      this.thread =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      NamedRequest request = new NamedRequest(name);
                      batcher.submit(request);
                      got.complete(request.await());
                    } catch (Throwable failure) {
                      got.completeExceptionally(failure);
                    }
                  });
    }

    /** Returns when the caller waits for its batch. */
    Caller waiting() throws Exception {
      Await.until(SOON, "the caller to wait", () -> thread.getState() == Thread.State.WAITING);
      return this;
    }

    String answer() throws Exception {
      return got.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    Throwable failure() throws Exception {
      return got.handle((answer, failure) -> failure).get(SOON.toSeconds(), TimeUnit.SECONDS);
    }
  }

  private void handle(List<NamedRequest> batch) throws InterruptedException {
    batchThreads.add(Thread.currentThread());
    begunBatches.add(batch.stream().map(request -> request.name).toList());
    permitsToEnd.acquire();
    handler.accept(batch);
  }

  private List<String> nextBatch() throws InterruptedException {
    List<String> names = begunBatches.poll(SOON.toSeconds(), TimeUnit.SECONDS);
    assertTrue(names != null, "waited for a batch to begin");
    return names;
  }

  /** Begins a batch of one request, which ends with the first permit. */
  private Caller firstInProgress() throws Exception {
    Caller first = new Caller("first");
    assertEquals(List.of("first"), nextBatch());
    return first;
  }

  @AfterEach
  void close() throws Exception {
    batcher.close();
    Await.until(
        SOON,
        "the thread of the batcher to end",
        () -> batchThreads.stream().noneMatch(Thread::isAlive));
  }

  @Test
  void givenABatchInProgress_thenNewRequestsFormTheNextOne() throws Exception {
    Caller first = firstInProgress();
    Caller second = new Caller("second").waiting();
    Caller third = new Caller("third").waiting();

    permitsToEnd.release();

    assertEquals("for first", first.answer());
    assertEquals(List.of("second", "third"), nextBatch());
    permitsToEnd.release();
    assertEquals("for second", second.answer());
    assertEquals("for third", third.answer());
  }

  @Test
  void givenMoreRequestsThanABatchTakes_thenTheRestIsInTheNext() throws Exception {
    firstInProgress();
    List<Caller> callers = new ArrayList<>();
    for (int i : IntStream.range(0, 100).toArray()) {
      callers.add(new Caller("" + i).waiting());
    }

    permitsToEnd.release(3);

    assertEquals(64, nextBatch().size());
    assertEquals(36, nextBatch().size());
    for (int i = 0; i < callers.size(); i++) {
      assertEquals("for " + i, callers.get(i).answer());
    }
  }

  @Test
  void givenACallerInterruptedBeforeItsBatch_thenItsRequestIsWithdrawn() throws Exception {
    firstInProgress();
    Caller gone = new Caller("gone").waiting();
    Caller stays = new Caller("stays").waiting();

    gone.thread.interrupt();

    assertEquals(InterruptedException.class, gone.failure().getClass());
    permitsToEnd.release(2);
    assertEquals(List.of("stays"), nextBatch());
    assertEquals("for stays", stays.answer());
  }

  @Test
  void givenACallerInterruptedInItsBatch_thenTheOthersAreAnswered() throws Exception {
    firstInProgress();
    Caller gone = new Caller("gone").waiting();
    Caller stays = new Caller("stays").waiting();
    permitsToEnd.release();
    assertEquals(List.of("gone", "stays"), nextBatch());

    gone.thread.interrupt();

    assertEquals(InterruptedException.class, gone.failure().getClass());
    permitsToEnd.release();
    assertEquals("for stays", stays.answer());
  }

  @Test
  void givenABatchThatFails_thenUnansweredRequestsFailAndTheNextSucceeds() throws Exception {
    for (Throwable failure : List.of(new IllegalStateException("no"), new AssertionError("no"))) {
      handler =
          batch -> {
            batch.getFirst().answer("answered before");
            switch (failure) {
              case RuntimeException unchecked -> throw unchecked;
              case Error error -> throw error;
              default -> throw new IllegalArgumentException(failure);
            }
          };
      Caller first = firstInProgress();
      Caller second = new Caller("second").waiting();
      Caller third = new Caller("third").waiting();
      permitsToEnd.release(2);
      assertEquals(List.of("second", "third"), nextBatch());

      assertEquals("answered before", first.answer());
      assertEquals("answered before", second.answer());
      assertSame(failure, third.failure());
      handler = batch -> batch.forEach(request -> request.answer("well"));
      Caller next = new Caller("next");
      assertEquals(List.of("next"), nextBatch());
      permitsToEnd.release();
      assertEquals("well", next.answer());
    }
  }

  @Test
  void givenNobodyElse_thenACallerHandlesItsRequestItself() throws Exception {
    permitsToEnd.release();
    NamedRequest request = new NamedRequest("alone");

    assertEquals("for alone", batcher.call(request, request));

    assertEquals(List.of(Thread.currentThread()), batchThreads);
    batchThreads.clear();
  }

  @Test
  void givenACallerThatHandlesItsRequestItself_thenOthersFormTheNextBatch() throws Exception {
    Direct alone = new Direct("alone");
    assertEquals(List.of("alone"), nextBatch());
    Direct second = new Direct("second").waiting();
    Direct third = new Direct("third").waiting();

    permitsToEnd.release(2);

    assertEquals("for alone", alone.answer());
    assertEquals("for second", second.answer());
    assertEquals("for third", third.answer());
    assertEquals(List.of("second", "third"), nextBatch());
  }

  @Test
  void givenClosedWhileACallerHandlesItsRequest_thenItFailsAndItsThreadGoesOn() throws Exception {
    Direct alone = new Direct("alone");
    assertEquals(List.of("alone"), nextBatch());
    Direct second = new Direct("second").waiting();

    batcher.close();

    assertUnavailable(alone.failure());
    assertUnavailable(second.failure());
    assertEquals(false, alone.interruptedAfterwards);
    batcher.awaitIdle();
  }

  @Test
  void givenACallerIsCancelledWhileItHandlesItsRequest_thenTheOthersAreAnswered() throws Exception {
    Direct gone = new Direct("gone");
    assertEquals(List.of("gone"), nextBatch());
    Direct stays = new Direct("stays").waiting();

    gone.thread.interrupt();

    assertEquals(InterruptedException.class, gone.failure().getClass());
    permitsToEnd.release();
    assertEquals("for stays", stays.answer());
  }

  /** Makes a request on a thread that may handle it itself. */
  private final class Direct {
    private final CompletableFuture<String> got = new CompletableFuture<>();
    private volatile boolean interruptedAfterwards;
    private final Thread thread;

    Direct(String name) {
      this.thread =
          Thread.ofVirtual()
              .start(
                  () -> {
                    NamedRequest request = new NamedRequest(name);
                    try {
                      got.complete(batcher.call(request, request));
                    } catch (Throwable failure) {
                      interruptedAfterwards = Thread.currentThread().isInterrupted();
                      got.completeExceptionally(failure);
                    }
                  });
    }

    Direct waiting() throws Exception {
      Await.until(SOON, "the caller to wait", () -> thread.getState() == Thread.State.WAITING);
      return this;
    }

    String answer() throws Exception {
      return got.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    Throwable failure() throws Exception {
      return got.handle((answer, failure) -> failure).get(SOON.toSeconds(), TimeUnit.SECONDS);
    }
  }

  @Test
  void givenClosed_thenWaitingAndNewRequestsAreUnavailable() throws Exception {
    Caller first = firstInProgress();
    Caller second = new Caller("second").waiting();

    batcher.close();

    assertUnavailable(first.failure());
    assertUnavailable(second.failure());
    assertUnavailable(
        assertThrows(RpcException.class, () -> batcher.submit(new NamedRequest("late"))));
    assertTrue(begunBatches.isEmpty(), () -> "batches that began after closing: " + begunBatches);
  }

  private static void assertUnavailable(Throwable failure) {
    assertEquals(RpcException.class, failure.getClass(), failure.toString());
    assertEquals(Status.Code.UNAVAILABLE, ((RpcException) failure).code());
  }
}
