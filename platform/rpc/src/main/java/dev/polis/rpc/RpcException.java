package dev.polis.rpc;

import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;

/**
 * Reports a refusal or failure to the caller of a method, with its message as it is. The message
 * says what was wrong, with the offending value, and what to do next; it goes over the wire, so it
 * holds no secret.
 */
public final class RpcException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Trailer with the milliseconds after which a retry makes sense, in decimal. The name is gRPC's
   * own for this purpose, so that clients that retry by themselves follow it.
   */
  public static final Metadata.Key<String> RETRY_DELAY =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  private final transient Status.Code code;
  private final transient Duration retryAfter;

  /** Creates a failure with a code. */
  public RpcException(Status.Code code, String message) {
    this(code, message, Duration.ZERO, null);
  }

  /** Creates a failure with a code and a cause, which is logged and never sent. */
  public RpcException(Status.Code code, String message, Throwable cause) {
    this(code, message, Duration.ZERO, cause);
  }

  private RpcException(Status.Code code, String message, Duration retryAfter, Throwable cause) {
    super(message, cause);
    if (code == Status.Code.OK) {
      throw new IllegalArgumentException("OK is no failure; return instead of throwing");
    }
    this.code = code;
    this.retryAfter = retryAfter;
  }

  /** Returns a refusal: the caller did not prove who it is. */
  public static RpcException unauthenticated(String message) {
    return new RpcException(Status.Code.UNAUTHENTICATED, message);
  }

  /** Returns a refusal: the caller may not do this. */
  public static RpcException permissionDenied(String message) {
    return new RpcException(Status.Code.PERMISSION_DENIED, message);
  }

  /** Returns a refusal: the request makes no sense. */
  public static RpcException invalid(String message) {
    return new RpcException(Status.Code.INVALID_ARGUMENT, message);
  }

  /** Returns a refusal: what the request names does not exist. */
  public static RpcException notFound(String message) {
    return new RpcException(Status.Code.NOT_FOUND, message);
  }

  /** Returns a refusal: something has to be done before this request. */
  public static RpcException failedPrecondition(String message) {
    return new RpcException(Status.Code.FAILED_PRECONDITION, message);
  }

  /** Returns a refusal: the same request may succeed after a while. */
  public static RpcException unavailable(String message, Duration retryAfter) {
    return new RpcException(Status.Code.UNAVAILABLE, message, retryAfter, null);
  }

  /** Returns the code. */
  public Status.Code code() {
    return code;
  }

  /** Returns when to try again, if that makes sense. */
  public Optional<Duration> retryAfter() {
    return retryAfter.isZero() ? Optional.empty() : Optional.of(retryAfter);
  }

  /** Returns the status that is sent. */
  Status status() {
    return code.toStatus().withDescription(getMessage());
  }

  /** Returns the trailers that are sent with it. */
  Metadata trailers() {
    Metadata trailers = new Metadata();
    retryAfter().ifPresent(delay -> trailers.put(RETRY_DELAY, Long.toString(delay.toMillis())));
    return trailers;
  }
}
