package dev.polis.rpc;

import dev.polis.pki.NodeEndpoint;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;

/**
 * Reports a refusal or failure to the caller of a method, with its message unchanged. The message
 * names the fault, the offending value and the remedy. It goes over the wire, so it holds no
 * secret.
 */
public final class RpcException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Trailer with the milliseconds after which a retry makes sense, in decimal. The name is gRPC's
   * own, so that clients with automatic retries follow it.
   */
  public static final Metadata.Key<String> RETRY_DELAY =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  private final transient Status.Code code;
  private final transient Duration retryAfter;
  private final transient NodeEndpoint leader; // null for a refusal that names none

  /** Creates a failure with a code. */
  public RpcException(Status.Code code, String message) {
    this(code, message, Duration.ZERO, null, null);
  }

  /** Creates a failure with a cause, which is logged and never sent. */
  public RpcException(Status.Code code, String message, Throwable cause) {
    this(code, message, Duration.ZERO, null, cause);
  }

  private RpcException(
      Status.Code code, String message, Duration retryAfter, NodeEndpoint leader, Throwable cause) {
    super(message, cause);
    if (code == Status.Code.OK) {
      throw new IllegalArgumentException("OK is no failure; return instead of throwing");
    }
    this.code = code;
    this.retryAfter = retryAfter;
    this.leader = leader;
  }

  /** Returns a refusal because the caller did not prove its identity. */
  public static RpcException unauthenticated(String message) {
    return new RpcException(Status.Code.UNAUTHENTICATED, message);
  }

  /** Returns a refusal because the caller lacks a permission. */
  public static RpcException permissionDenied(String message) {
    return new RpcException(Status.Code.PERMISSION_DENIED, message);
  }

  /** Returns a refusal of an invalid request. */
  public static RpcException invalid(String message) {
    return new RpcException(Status.Code.INVALID_ARGUMENT, message);
  }

  /** Returns a refusal because the named thing does not exist. */
  public static RpcException notFound(String message) {
    return new RpcException(Status.Code.NOT_FOUND, message);
  }

  /** Returns a refusal because the request needs another step first. */
  public static RpcException failedPrecondition(String message) {
    return new RpcException(Status.Code.FAILED_PRECONDITION, message);
  }

  /** Returns a refusal of a request that may succeed later. */
  public static RpcException unavailable(String message, Duration retryAfter) {
    return new RpcException(Status.Code.UNAVAILABLE, message, retryAfter, null, null);
  }

  /**
   * Returns the failure of a request whose outcome is unknown. The caller may repeat the request
   * with the same {@link RequestId}.
   */
  public static RpcException unknown(String message, Duration retryAfter, Throwable cause) {
    return new RpcException(Status.Code.UNKNOWN, message, retryAfter, null, cause);
  }

  /**
   * Returns a refusal of a request that only the leader serves, which is another node. A client
   * that reads {@link LeaderHint} asks that node at once; any other one asks again later.
   */
  public static RpcException elsewhere(String message, NodeEndpoint leader, Duration retryAfter) {
    return new RpcException(Status.Code.UNAVAILABLE, message, retryAfter, leader, null);
  }

  public Status.Code code() {
    return code;
  }

  /** Returns the delay before a retry; empty if a retry makes no sense. */
  public Optional<Duration> retryAfter() {
    return retryAfter.isZero() ? Optional.empty() : Optional.of(retryAfter);
  }

  /** Returns the leader that serves the request; empty for any other refusal. */
  public Optional<NodeEndpoint> leader() {
    return Optional.ofNullable(leader);
  }

  /** Returns the status that the caller gets. */
  Status status() {
    return code.toStatus().withDescription(getMessage());
  }

  /** Returns the trailers that the caller gets with the status. */
  Metadata trailers() {
    Metadata trailers = new Metadata();
    retryAfter().ifPresent(delay -> trailers.put(RETRY_DELAY, Long.toString(delay.toMillis())));
    leader().ifPresent(elsewhere -> trailers.put(LeaderHint.TRAILER, LeaderHint.text(elsewhere)));
    return trailers;
  }
}
