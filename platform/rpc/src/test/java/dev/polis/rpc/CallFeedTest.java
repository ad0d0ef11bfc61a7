package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.TestThreads;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CallFeedTest {

  private final CallStreams streams = new CallStreams();
  private final Caller caller = new Caller();
  private final Queue<String> news = new ConcurrentLinkedQueue<>();
  private final AtomicInteger closedSources = new AtomicInteger();

  /** Stands for a caller that reads when the test says so. */
  private static final class Caller extends ServerCallStreamObserver<String> {
    private final List<String> got = new ArrayList<>();
    private final Queue<Throwable> ends = new ArrayDeque<>();
    private final AtomicInteger inside = new AtomicInteger();
    private volatile int room = Integer.MAX_VALUE;
    private Runnable ready = () -> {};
    private Runnable cancelled = () -> {};

    void makeRoom(int messages) {
      room = messages;
      ready.run();
    }

    @Override
    public boolean isReady() {
      return room > 0;
    }

    @Override
    public void onNext(String message) {
      assertEquals(1, inside.incrementAndGet(), "two threads send at once");
      room--;
      got.add(message);
      inside.decrementAndGet();
    }

    @Override
    public void onError(Throwable failure) {
      ends.add(failure);
    }

    @Override
    public void onCompleted() {
      throw new AssertionError("a feed does not complete");
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {
      cancelled = handler;
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {
      ready = handler;
    }

    @Override
    public void setCompression(String compression) {}

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}

    Status end() {
      assertEquals(1, ends.size(), () -> "ends: " + ends);
      return ((StatusRuntimeException) ends.peek()).getStatus();
    }
  }

  private final class Source implements CallFeed.Source<String> {
    @Override
    public Optional<String> next() {
      String next = news.poll();
      if ("refuse".equals(next)) {
        throw RpcException.failedPrecondition("refused as told");
      }
      if ("break".equals(next)) {
        throw new IllegalStateException("broken as told");
      }
      return Optional.ofNullable(next);
    }

    @Override
    public void over() {
      closedSources.incrementAndGet();
    }
  }

  private CallFeed<String> open() throws InterruptedException {
    return streams.feed(caller, feed -> new Source());
  }

  private void assertOver() {
    assertEquals(1, closedSources.get(), "the source is closed once");
    assertEquals(0, streams.open());
  }

  @Test
  void givenNewsBeforeAndAfterTheOpening_thenAllIsSent() throws Exception {
    news.add("before");
    CallFeed<String> feed = open();
    assertEquals(List.of("before"), caller.got);
    assertEquals(1, streams.open());

    news.addAll(List.of("one", "two"));
    feed.wake();

    assertEquals(List.of("before", "one", "two"), caller.got);
  }

  @Test
  void givenACallerThatDoesNotRead_thenTheRestIsSentWhenItDoes() throws Exception {
    CallFeed<String> feed = open();
    caller.makeRoom(1);
    news.addAll(List.of("one", "two", "three"));
    feed.wake();
    assertEquals(List.of("one"), caller.got);

    caller.makeRoom(5);

    assertEquals(List.of("one", "two", "three"), caller.got);
  }

  @Test
  void givenManyWhoWake_thenEachMessageIsSentOnce() throws Exception {
    CallFeed<String> feed = open();
    List<String> all = IntStream.range(0, 2000).mapToObj(Integer::toString).toList();
    try (ExecutorService threads = new TestThreads()) {
      all.forEach(
          message ->
              threads.execute(
                  () -> {
                    news.add(message);
                    feed.wake();
                  }));
    }
    assertEquals(
        all,
        caller.got.stream().sorted((a, b) -> Integer.parseInt(a) - Integer.parseInt(b)).toList());
  }

  @Test
  void givenTheCallerGoes_thenTheSourceIsClosedAndNothingIsSent() throws Exception {
    CallFeed<String> feed = open();

    caller.cancelled.run();
    news.add("late");
    feed.wake();
    feed.end(RpcException.invalid("late"));

    assertOver();
    assertEquals(List.of(), caller.got);
    assertTrue(caller.ends.isEmpty());
  }

  @Test
  void givenTheSourceRefuses_thenTheCallerIsToldItsWords() throws Exception {
    CallFeed<String> feed = open();
    news.addAll(List.of("one", "refuse", "two"));

    feed.wake();

    assertEquals(List.of("one"), caller.got);
    assertEquals(Status.Code.FAILED_PRECONDITION, caller.end().getCode());
    assertOver();
  }

  @Test
  void givenTheSourceBreaks_thenThatIsTheCallsOwnFailure() throws Exception {
    CallFeed<String> feed = open();
    news.add("break");

    feed.wake();

    assertEquals(IllegalStateException.class, caller.ends.remove().getClass());
    assertOver();
  }

  @Test
  void givenAnEndBeforeTheSourceIsOpen_thenItIsClosedWhenItIs() throws Exception {
    streams.feed(
        caller,
        feed -> {
          feed.end(RpcException.unavailable("over already", Duration.ofSeconds(1)));
          return new Source();
        });

    assertEquals(Status.Code.UNAVAILABLE, caller.end().getCode());
    assertOver();
  }

  @Test
  void givenTheOpenerRefuses_thenNothingIsLeft() {
    assertThrows(
        RpcException.class,
        () ->
            streams.feed(
                caller,
                feed -> {
                  throw RpcException.invalid("no such thing");
                }));
    assertEquals(0, streams.open());
  }

  @Test
  void givenTheStreamsClose_thenFeedsEndAsUnavailableAlsoForASlowCaller() throws Exception {
    open();
    caller.makeRoom(0);

    streams.close();

    assertEquals(Status.Code.UNAVAILABLE, caller.end().getCode());
    assertOver();
    assertThrows(RpcException.class, this::open);
  }
}
