package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Wakes the feeds of real connections together. */
@Timeout(60)
final class CallFeedConnectionTest {
  private static final int CONNECTIONS = 3;
  private static final int STREAMS = 20;

  /** Holds a connection's number and the thread that requested a message of one of its streams. */
  private record Asked(String connection, String thread) {}

  private final CallStreams streams = new CallStreams();
  private final List<CallFeed<WatchEvent>> feeds = new CopyOnWriteArrayList<>();
  private final List<Source> sources = new CopyOnWriteArrayList<>();
  private final Queue<Asked> asked = new ConcurrentLinkedQueue<>();
  private final AtomicInteger received = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();

  /** Sends as many events as are due, the first one when its feed opens. */
  private final class Source implements CallFeed.Source<WatchEvent> {
    private final String connection;
    private final AtomicInteger due = new AtomicInteger(1);
    private volatile boolean broken;

    Source(String connection) {
      this.connection = connection;
    }

    @Override
    public Optional<WatchEvent> next() {
      if (broken) {
        throw new IllegalStateException("broken by the test");
      }
      if (due.get() == 0) {
        return Optional.empty();
      }
      due.decrementAndGet();
      asked.add(new Asked(connection, Thread.currentThread().getName()));
      return Optional.of(WatchEvent.getDefaultInstance());
    }

    @Override
    public void over() {
      ended.incrementAndGet();
      if (broken) {
        throw new IllegalStateException("broken by the test");
      }
    }
  }

  private final class Service extends CuratorGrpc.CuratorImplBase {
    @Override
    public void watch(WatchRequest request, StreamObserver<WatchEvent> caller) {
      try {
        String connection = CallConnection.current().identity().toString();
        Source source = new Source(connection);
        sources.add(source);
        feeds.add(streams.feed(caller, feed -> source));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private final class Receiver implements StreamObserver<WatchEvent> {
    @Override
    public void onNext(WatchEvent event) {
      received.incrementAndGet();
    }

    @Override
    public void onError(Throwable failure) {
      failed.incrementAndGet();
    }

    @Override
    public void onCompleted() {}
  }

  private void open(RpcFixture fixture) throws Exception {
    fixture.host.serve(RpcHost.CURATOR, new Service());
    for (int i = 0; i < CONNECTIONS; i++) {
      ManagedChannel channel = fixture.as(fixture.node());
      for (int j = 0; j < STREAMS; j++) {
        CuratorGrpc.newStub(channel).watch(WatchRequest.getDefaultInstance(), new Receiver());
      }
    }
    Await.until("all streams to be open", () -> received.get() == CONNECTIONS * STREAMS);
    Await.until("all feeds to be known", () -> feeds.size() == CONNECTIONS * STREAMS);
  }

  @Test
  @DisplayName(
      "feeds that are woken together are, one connection after the other, by the connection's writing thread")
  void together() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      open(fixture);
      asked.clear();
      sources.forEach(source -> source.due.incrementAndGet());

      CallFeed.wakeAll(feeds);

      assertEquals(CONNECTIONS * STREAMS, asked.size(), "each was woken when it returned");
      Set<Asked> pairs = new HashSet<>(asked);
      assertEquals(CONNECTIONS, pairs.size(), () -> "one thread for each connection: " + pairs);
      assertTrue(
          pairs.stream().allMatch(each -> each.thread().startsWith("rpc-events")), pairs::toString);
      for (String thread : Set.copyOf(pairs.stream().map(Asked::thread).toList())) {
        assertContiguous(asked.stream().filter(each -> each.thread().equals(thread)).toList());
      }
      Await.until("all second messages", () -> received.get() == 2 * CONNECTIONS * STREAMS);
    }
  }

  private static void assertContiguous(List<Asked> ofOneThread) {
    List<Asked> changes = new ArrayList<>();
    for (Asked each : ofOneThread) {
      if (changes.isEmpty() || !changes.getLast().equals(each)) {
        changes.add(each);
      }
    }
    assertEquals(
        new HashSet<>(changes).size(), changes.size(), () -> "connections took turns: " + changes);
  }

  @Test
  @DisplayName("a feed that fails at its end does not prevent the waking of others")
  void broken() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      open(fixture);
      Source broken = sources.getFirst();
      broken.broken = true;
      sources.forEach(source -> source.due.incrementAndGet());

      CallFeed.wakeAll(feeds);

      Await.until(
          "the second messages of all but one",
          () -> received.get() == 2 * CONNECTIONS * STREAMS - 1);
      assertEquals(1, ended.get());
      Await.until("the end of its call", () -> failed.get() == 1);
    }
  }

  @Test
  @DisplayName("the waking of feeds returns when their host is closed")
  void closed() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      open(fixture);
    }
    CallFeed.wakeAll(feeds);
    Await.until("all sources to be released", () -> ended.get() == CONNECTIONS * STREAMS);
    assertEquals(0, streams.open());
  }
}
