package dev.polis.rpc;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Sends messages to one caller, on the thread that has a new message. It is for many streams that
 * carry the same messages, so that none needs a thread of its own. Made by {@link
 * CallStreams#feed}. Safe for use by any thread.
 *
 * @param <T> the type of the messages
 */
public final class CallFeed<T> {

  /**
   * Supplies the messages of a stream. Called by one thread at a time; does not block, since the
   * same thread feeds other calls as well.
   *
   * @param <T> the type of the messages
   */
  public interface Source<T> {
    /**
     * Returns the next message, or empty if the source has none now. The feed calls it only when
     * the caller has taken enough of the earlier messages, so the source may join messages that
     * wait. An exception ends the call as it ends a unary call.
     */
    Optional<T> next();

    /** Releases what the source holds; called once, when the stream has ended for any reason. */
    void over();
  }

  private final ServerCallStreamObserver<T> call;
  private final CallConnection connection = CallConnection.current();
  private final Consumer<CallFeed<T>> onEnd;

  // Guarded by this.
  private Source<T> source; // null until it is open
  private boolean over;

  CallFeed(ServerCallStreamObserver<T> call, Consumer<CallFeed<T>> onEnd) {
    this.call = call;
    this.onEnd = onEnd;
  }

  void from(Source<T> opened) {
    synchronized (this) {
      if (over) {
        opened.over();
        return;
      }
      source = opened;
    }
    wake();
  }

  /**
   * Wakes many feeds and returns when each was woken. The threads that write to the connections do
   * this, one connection after the other: so the messages of one connection leave in few packets,
   * and its peer wakes few times. From any other thread a packet would go out for every few
   * messages, which takes twice the CPU time of both ends.
   *
   * <p>For a thread that waits, never one of those that write.
   *
   * @throws InterruptedException if interrupted; the feeds are woken nevertheless
   */
  public static <T> void wakeAll(Collection<CallFeed<T>> feeds) throws InterruptedException {
    Map<Executor, Map<CallConnection, List<CallFeed<T>>>> writers =
        feeds.stream()
            .collect(
                Collectors.groupingBy(
                    feed -> feed.connection.writer(),
                    Collectors.groupingBy(feed -> feed.connection)));
    CountDownLatch busy = new CountDownLatch(writers.size());
    writers.forEach(
        (writer, connections) ->
            wakeNext(writer, connections.values().iterator(), busy::countDown));
    busy.await();
  }

  /**
   * Wakes the feeds of one connection, and the feeds of the next one after gRPC has flushed this
   * one.
   */
  private static <T> void wakeNext(
      Executor writer, Iterator<List<CallFeed<T>>> connections, Runnable done) {
    if (!connections.hasNext()) {
      done.run();
      return;
    }
    try {
      writer.execute(
          () -> {
            try {
              wakeEach(connections.next().iterator());
            } finally {
              wakeNext(writer, connections, done);
            }
          });
    } catch (RejectedExecutionException closed) {
      // The host has closed these connections, and their calls end with them.
      done.run();
    }
  }

  /** Wakes each feed, and continues after a feed that throws. */
  private static <T> void wakeEach(Iterator<CallFeed<T>> feeds) {
    while (feeds.hasNext()) {
      try {
        feeds.next().wake();
      } catch (Throwable failure) {
        wakeEach(feeds);
        throw failure;
      }
    }
  }

  /**
   * Sends the messages that the source has, no faster than the caller reads; the rest is sent when
   * the caller has room.
   */
  public synchronized void wake() {
    try {
      if (!over && source != null) {
        send();
      }
    } catch (RpcException refusal) {
      end(refusal);
    } catch (Throwable failure) {
      // Any failure ends this call alone; the host logs it and chooses the status.
      try {
        finish();
      } finally {
        call.onError(failure);
      }
    }
  }

  private void send() {
    while (call.isReady()) {
      Optional<T> next = source.next();
      if (next.isEmpty()) {
        return;
      }
      call.onNext(next.get());
    }
  }

  /** Ends the stream; does nothing if it has ended. */
  public synchronized void end(RpcException reason) {
    if (finish()) {
      call.onError(reason.status().asRuntimeException(reason.trailers()));
    }
  }

  /** Ends the stream because its caller disconnected. */
  synchronized void gone() {
    finish();
  }

  private boolean finish() {
    if (over) {
      return false;
    }
    over = true;
    onEnd.accept(this);
    if (source != null) {
      source.over();
    }
    return true;
  }
}
