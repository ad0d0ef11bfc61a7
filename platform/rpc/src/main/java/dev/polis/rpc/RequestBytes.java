package dev.polis.rpc;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;

/**
 * Counts the arriving bytes of one call's requests, and notices when the call has left the memory.
 * The thread that reads the connection calls it.
 */
final class RequestBytes extends ServerStreamTracer {
  private static final Context.Key<RequestBytes> KEY = Context.key("polis-rpc-bytes");

  private RequestRoom.Requests counted; // null until the call has a place
  private Runnable over; // null until counted is set

  /** Makes a counter for each call. */
  static final class Factory extends ServerStreamTracer.Factory {
    @Override
    public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
      return new RequestBytes();
    }
  }

  /**
   * Counts the bytes of the call that begins on this thread.
   *
   * @param over runs when the caller has read the whole answer, or has gone
   */
  static void count(RequestRoom.Requests requests, Runnable over) {
    RequestBytes call = KEY.get();
    call.counted = requests;
    call.over = over;
  }

  @Override
  public Context filterContext(Context context) {
    return context.withValue(KEY, this);
  }

  @Override
  public void inboundWireSize(long bytes) {
    if (counted != null) {
      counted.arriving(bytes);
    }
  }

  @Override
  public void inboundMessageRead(int number, long wireSize, long uncompressedSize) {
    if (counted != null) {
      counted.arrived();
    }
  }

  @Override
  public void inboundUncompressedSize(long bytes) {
    if (counted != null) {
      counted.read(bytes);
    }
  }

  @Override
  public void streamClosed(Status status) {
    if (over != null) {
      over.run();
    }
  }
}
