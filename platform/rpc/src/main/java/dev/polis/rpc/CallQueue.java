package dev.polis.rpc;

import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.Context;
import io.grpc.ServerCall;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Passes the events of one call to its listener on threads that may wait, one event at a time and
 * in the order in which they came.
 */
final class CallQueue extends ServerCall.Listener<Object> {
  private final Executor events;

  // Only the events use it.
  private ServerCall.Listener<Object> listener = new ServerCall.Listener<>() {};

  private CallQueue(Executor threads) {
    this.events =
        Context.current().fixedContextExecutor(MoreExecutors.newSequentialExecutor(threads));
  }

  /**
   * Starts a call on one of the threads and returns at once.
   *
   * @param start runs before the first event, in the context of the calling thread, and returns the
   *     listener of the events
   */
  static ServerCall.Listener<Object> start(
      Executor threads, Supplier<ServerCall.Listener<Object>> start) {
    CallQueue queue = new CallQueue(threads);
    queue.events.execute(() -> queue.listener = start.get());
    return queue;
  }

  @Override
  public void onMessage(Object message) {
    events.execute(() -> listener.onMessage(message));
  }

  @Override
  public void onHalfClose() {
    events.execute(() -> listener.onHalfClose());
  }

  @Override
  public void onCancel() {
    events.execute(() -> listener.onCancel());
  }

  @Override
  public void onComplete() {
    events.execute(() -> listener.onComplete());
  }

  @Override
  public void onReady() {
    events.execute(() -> listener.onReady());
  }
}
