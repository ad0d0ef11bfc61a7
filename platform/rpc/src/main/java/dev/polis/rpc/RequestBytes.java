package dev.polis.rpc;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;

/**
 * Counts the bytes of one call's requests as they come. The thread that reads the connection calls
 * it.
 */
final class RequestBytes extends ServerStreamTracer {
  private static final Context.Key<RequestBytes> KEY = Context.key("polis-rpc-bytes");

  private RequestRoom.Requests counted; // null until the call has a place

  /** Makes one for each call. */
  static final class Factory extends ServerStreamTracer.Factory {
    @Override
    public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
      return new RequestBytes();
    }
  }

  /** Counts the bytes of the call that begins on this thread. */
  static void count(RequestRoom.Requests requests) {
    KEY.get().counted = requests;
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
}
