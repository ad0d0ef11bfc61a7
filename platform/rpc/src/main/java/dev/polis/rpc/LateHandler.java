package dev.polis.rpc;

import io.grpc.ServerCall;
import java.util.function.Supplier;

/**
 * Begins the handler of a call with the first request, so that a caller who sends none takes no
 * more than its place. For streams of strangers: a handler may keep a thread that reads.
 */
final class LateHandler extends ServerCall.Listener<Object> {
  private final CallInFlight call;
  private final Supplier<ServerCall.Listener<Object>> begin;
  private ServerCall.Listener<Object> handler; // null until a request has come

  /**
   * Asks for the first request.
   *
   * @param begin begins the handler, and returns the listener of the events; called at most once
   */
  LateHandler(CallInFlight call, Supplier<ServerCall.Listener<Object>> begin) {
    this.call = call;
    this.begin = begin;
    call.requestFirst();
  }

  private ServerCall.Listener<Object> handler() {
    if (handler == null) {
      handler = call.isClosed() ? new ServerCall.Listener<>() {} : begin.get();
    }
    return handler;
  }

  @Override
  public void onMessage(Object message) {
    handler().onMessage(message);
  }

  @Override
  public void onHalfClose() {
    handler().onHalfClose();
  }

  @Override
  public void onCancel() {
    if (handler == null) {
      call.goneBeforeItBegan();
    } else {
      handler.onCancel();
    }
  }

  @Override
  public void onComplete() {
    if (handler != null) {
      handler.onComplete();
    }
  }

  @Override
  public void onReady() {
    if (handler != null) {
      handler.onReady();
    }
  }
}
