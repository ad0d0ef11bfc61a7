package dev.polis.curator.record;

import dev.polis.rpc.RpcException;
import io.grpc.Status;

/** Makes the exceptions that refuse calls: a status code and a message that names the value. */
public final class Refusal {

  private Refusal() {}

  public static RpcException invalid(String format, Object... values) {
    return of(Status.Code.INVALID_ARGUMENT, format, values);
  }

  public static RpcException notFound(String format, Object... values) {
    return of(Status.Code.NOT_FOUND, format, values);
  }

  public static RpcException denied(String format, Object... values) {
    return of(Status.Code.PERMISSION_DENIED, format, values);
  }

  public static RpcException precondition(String format, Object... values) {
    return of(Status.Code.FAILED_PRECONDITION, format, values);
  }

  public static RpcException exhausted(String format, Object... values) {
    return of(Status.Code.RESOURCE_EXHAUSTED, format, values);
  }

  public static RpcException outOfRange(String format, Object... values) {
    return of(Status.Code.OUT_OF_RANGE, format, values);
  }

  public static RpcException aborted(String format, Object... values) {
    return of(Status.Code.ABORTED, format, values);
  }

  static RpcException dataLoss(String format, Object... values) {
    return of(Status.Code.DATA_LOSS, format, values);
  }

  private static RpcException of(Status.Code code, String format, Object... values) {
    return new RpcException(code, format.formatted(values));
  }
}
