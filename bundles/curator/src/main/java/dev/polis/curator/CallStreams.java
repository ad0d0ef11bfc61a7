package dev.polis.curator;

import dev.polis.rpc.RpcException;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/**
 * The streams of calls that answer for as long as the caller listens: one virtual thread each, all
 * owned here. A caller that reads slowly blocks its own thread only.
 */
final class CallStreams implements AutoCloseable {

  private static final Duration RETRY = Duration.ofSeconds(1);

  /** The work of one stream. */
  @FunctionalInterface
  interface Body<T> {
    void run(Sink<T> sink) throws InterruptedException;
  }

  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

  /** Answers a call until the body returns, the caller goes away, or the streams are closed. */
  <T> void serve(String name, StreamObserver<T> caller, Body<T> body) {
    ServerCallStreamObserver<T> call = (ServerCallStreamObserver<T>) caller;
    Sink<T> sink = new Sink<>(call);
    Thread thread =
        Thread.ofVirtual()
            .name(name)
            .unstarted(Context.current().wrap(() -> run(call, sink, body)));
    call.setOnReadyHandler(sink.ready::release);
    call.setOnCancelHandler(thread::interrupt);
    threads.add(thread);
    thread.start();
  }

  private <T> void run(ServerCallStreamObserver<T> call, Sink<T> sink, Body<T> body) {
    try {
      body.run(sink);
      call.onCompleted();
    } catch (InterruptedException e) {
      if (!call.isCancelled()) {
        fail(call, unavailable("this curator is being replaced"));
      }
    } catch (LeaderNodeHub.ClosedException e) {
      fail(call, unavailable(e.getMessage()));
    } catch (RpcException e) {
      fail(call, e);
    } finally {
      threads.remove(Thread.currentThread());
    }
  }

  private static RpcException unavailable(String why) {
    return RpcException.unavailable(why + "; call again", RETRY);
  }

  private static <T> void fail(ServerCallStreamObserver<T> call, RpcException failure) {
    call.onError(
        Status.fromCode(failure.code()).withDescription(failure.getMessage()).asRuntimeException());
  }

  @Override
  public void close() {
    threads.forEach(Thread::interrupt);
  }

  /** Sends to the caller, no faster than it reads. */
  static final class Sink<T> {
    private final Semaphore ready = new Semaphore(0);
    private final ServerCallStreamObserver<T> call;

    private Sink(ServerCallStreamObserver<T> call) {
      this.call = call;
    }

    void send(T message) throws InterruptedException {
      while (!call.isReady()) {
        ready.acquire();
        ready.drainPermits();
      }
      call.onNext(message);
    }
  }
}
