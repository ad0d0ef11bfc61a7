package dev.polis.rpc;

import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/**
 * Serves calls whose answer is a stream without end: each on a virtual thread of its own, or fed by
 * other threads. A caller that reads slowly delays no other caller.
 *
 * <p>An organ has one of these and closes it when its component deactivates, after its services are
 * unregistered. Safe for use by any thread.
 */
public final class CallStreams implements AutoCloseable {
  /** Delay after which callers of a stream that was ended here are asked to call again. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  /** Time that closing waits for a stream to end, which takes an interrupt. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  /**
   * Sends the messages of one stream.
   *
   * @param <T> the type of the messages
   */
  @FunctionalInterface
  public interface Body<T> {
    /**
     * Sends until there is nothing more to send; returning completes the call. An exception ends
     * the call as it ends a unary call.
     *
     * @throws InterruptedException when the caller has gone or the streams are being closed
     */
    void run(Sink<T> sink) throws InterruptedException;
  }

  /**
   * Opens the source of a fed stream.
   *
   * @param <T> the type of the messages
   */
  @FunctionalInterface
  public interface Opener<T> {
    /**
     * Opens the source; from now on other threads may wake the feed. An exception ends the call.
     */
    CallFeed.Source<T> open(CallFeed<T> feed) throws InterruptedException;
  }

  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
  private final Set<CallFeed<?>> feeds = ConcurrentHashMap.newKeySet();

  private volatile boolean closed;

  /**
   * Answers a call until the body returns or throws, the caller goes away, or the streams are
   * closed. Returns at once; to be called by the handler itself, on its own thread.
   *
   * @param name the name of the thread in a thread dump
   * @param caller the observer that the handler was given
   * @param body runs in the context of the call, on a virtual thread
   * @param <T> the type of the messages
   * @throws RpcException UNAVAILABLE if the streams are closed
   */
  public <T> void serve(String name, StreamObserver<T> caller, Body<T> body) {
    ServerCallStreamObserver<T> call = (ServerCallStreamObserver<T>) caller;
    Sink<T> sink = new Sink<>(call);
    Thread thread =
        Thread.ofVirtual()
            .name(name)
            .unstarted(Context.current().wrap(() -> run(call, sink, body)));
    call.setOnReadyHandler(sink.ready::release);
    call.setOnCancelHandler(thread::interrupt);
    // Adding and starting are one step: close() cannot wait for a thread that has not started.
    synchronized (this) {
      if (closed) {
        throw replaced();
      }
      threads.add(thread);
      thread.start();
    }
  }

  /**
   * Answers a call with the messages of a source each time its feed is woken, until the caller
   * disconnects, the feed is ended, or the streams are closed. Returns when the source is open; to
   * be called by the handler itself, on its own thread.
   *
   * @param caller the observer that the handler was given
   * @param opener opens the source
   * @param <T> the type of the messages
   * @throws RpcException UNAVAILABLE if the streams are closed
   * @throws InterruptedException if the caller went away while the source was opened
   */
  public <T> CallFeed<T> feed(StreamObserver<T> caller, Opener<T> opener)
      throws InterruptedException {
    ServerCallStreamObserver<T> call = (ServerCallStreamObserver<T>) caller;
    CallFeed<T> feed = new CallFeed<>(call, feeds::remove);
    call.setOnReadyHandler(feed::wake);
    call.setOnCancelHandler(feed::gone);
    feeds.add(feed);
    boolean open = false;
    try {
      // close() sets the flag before it reads the feeds, so this order misses no feed.
      if (closed) {
        throw replaced();
      }
      feed.from(opener.open(feed));
      open = true;
      return feed;
    } finally {
      if (!open) {
        feeds.remove(feed);
      }
    }
  }

  private <T> void run(ServerCallStreamObserver<T> call, Sink<T> sink, Body<T> body) {
    try {
      body.run(sink);
      call.onCompleted();
    } catch (InterruptedException e) {
      if (!call.isCancelled()) {
        fail(call, replaced());
      }
    } catch (RpcException refusal) {
      fail(call, refusal);
    } catch (Throwable failure) {
      // Any failure ends this call alone; the host logs it and chooses the status.
      call.onError(failure);
    } finally {
      threads.remove(Thread.currentThread());
    }
  }

  private static RpcException replaced() {
    return RpcException.unavailable(
        "the service behind this stream is being replaced or stopped; call again", RETRY);
  }

  private static <T> void fail(ServerCallStreamObserver<T> call, RpcException failure) {
    call.onError(failure.status().asRuntimeException(failure.trailers()));
  }

  /** Returns how many streams are served at this moment. */
  public int open() {
    return threads.size() + feeds.size();
  }

  /**
   * Ends all streams with UNAVAILABLE, refuses new ones, and waits up to two seconds for the
   * threads to end. An interrupted caller does not wait and keeps its interrupt. A stream that
   * closes its own streams is ended like the others, but not waited for.
   */
  @Override
  public void close() {
    Set<Thread> ending = closing();
    ending.forEach(Thread::interrupt);
    feeds.forEach(feed -> feed.end(replaced()));
    long end = System.nanoTime() + PATIENCE.toNanos();
    try {
      for (Thread thread : ending) {
        if (thread != Thread.currentThread()) {
          thread.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Refuses new streams, and returns the threads of the existing ones, which have all started. */
  private synchronized Set<Thread> closing() {
    closed = true;
    return Set.copyOf(threads);
  }

  /**
   * Sends to one caller, no faster than it reads. For the thread of its body only.
   *
   * @param <T> the type of the messages
   */
  public static final class Sink<T> {
    private final Semaphore ready = new Semaphore(0);
    private final ServerCallStreamObserver<T> call;

    private Sink(ServerCallStreamObserver<T> call) {
      this.call = call;
    }

    /**
     * Sends a message as soon as the caller has taken enough of the earlier ones.
     *
     * @throws InterruptedException when the caller has gone or the streams are being closed
     */
    public void send(T message) throws InterruptedException {
      awaitRoom();
      call.onNext(message);
    }

    /**
     * Waits until the caller has taken enough of the earlier messages. So the body makes the next
     * message no earlier than it can be sent.
     *
     * @throws InterruptedException when the caller has gone or the streams are being closed
     */
    public void awaitRoom() throws InterruptedException {
      while (!call.isReady()) {
        ready.acquire();
        ready.drainPermits();
      }
    }
  }
}
