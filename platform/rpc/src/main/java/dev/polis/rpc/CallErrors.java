package dev.polis.rpc;

import dev.polis.logtree.Log;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/** Turns a failure into the status that the caller gets. */
final class CallErrors {
  /**
   * Holds the answer to the caller of a failed call.
   *
   * @param status the code and the message
   * @param trailers the trailers, which may name a delay for the retry
   */
  record Told(Status status, Metadata trailers) {}

  private static final String DEFECT = "internal error, reference ";

  private CallErrors() {}

  /**
   * Makes the number of a call or an error; 32 bits are enough to find it in a log of thousands.
   */
  static int number() {
    return ThreadLocalRandom.current().nextInt();
  }

  /** Returns such a number as it is written in logs. */
  static String reference(int number) {
    return HexFormat.of().toHexDigits(number);
  }

  /**
   * Returns the status for an exception of a handler, or of a step before it. Only an unforeseen
   * exception is logged, with its stack.
   */
  static Told of(Throwable failure, String id, String method, Log log) {
    return switch (failure) {
      case RpcException refusal -> new Told(refusal.status(), refusal.trailers());
      case StatusRuntimeException status ->
          told(status.getStatus(), status.getTrailers(), id, method, log);
      case StatusException status ->
          told(status.getStatus(), status.getTrailers(), id, method, log);
      case IllegalArgumentException invalid ->
          new Told(
              Status.INVALID_ARGUMENT.withDescription(
                  invalid.getMessage() == null ? "the request is invalid" : invalid.getMessage()),
              new Metadata());
      case InterruptedException interrupted ->
          new Told(Status.CANCELLED.withDescription("the call was ended"), new Metadata());
      default -> defect(failure, id, method, log);
    };
  }

  /**
   * Returns the status that the caller gets when a handler closes its call with a status. The
   * generated code reports an exception as UNKNOWN with a cause.
   */
  static Told of(Status status, Metadata trailers, String id, String method, Log log) {
    return status.getCode() == Status.Code.UNKNOWN && status.getCause() != null
        ? of(status.getCause(), id, method, log)
        : new Told(status, trailers);
  }

  private static Told told(Status status, Metadata trailers, String id, String method, Log log) {
    return of(status, trailers == null ? new Metadata() : trailers, id, method, log);
  }

  private static Told defect(Throwable failure, String id, String method, Log log) {
    log.error("[%s] %s failed: %s", id, method, failure, failure);
    return new Told(Status.INTERNAL.withDescription(DEFECT + id), new Metadata());
  }
}
