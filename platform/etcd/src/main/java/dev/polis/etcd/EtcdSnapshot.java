package dev.polis.etcd;

import dev.polis.base.backoff.Uninterrupted;
import io.etcd.jetcd.api.SnapshotRequest;
import io.etcd.jetcd.api.SnapshotResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads a snapshot of one member: its whole database at one revision, and 32 bytes behind it, the
 * SHA-256 of the database. One thread uses it, and closes it.
 */
public final class EtcdSnapshot implements AutoCloseable {

  private static final String WHAT = "read a snapshot";

  /** The time for the end of a cancelled call, which gRPC reports at once on an idle machine. */
  private static final Duration REST = Duration.ofSeconds(1);

  /**
   * Holds a part of the snapshot.
   *
   * @param data bytes that follow those of the previous part
   * @param remaining the number of bytes that follow
   */
  public record Part(byte[] data, long remaining) {}

  private final EtcdEndpoint endpoint;
  private final BlockingClientCall<SnapshotRequest, SnapshotResponse> call;

  EtcdSnapshot(
      EtcdEndpoint endpoint,
      Channel channel,
      MethodDescriptor<SnapshotRequest, SnapshotResponse> method) {
    this.endpoint = endpoint;
    this.call =
        ClientCalls.blockingV2ServerStreamingCall(
            channel, method, CallOptions.DEFAULT, SnapshotRequest.getDefaultInstance());
  }

  /**
   * Returns the next part; empty at the end.
   *
   * @param within the time for this part
   * @throws EtcdUnavailableException if the member does not send it in time, or has ended
   */
  public Optional<Part> next(Duration within) throws InterruptedException {
    try {
      return Optional.ofNullable(call.read(within.toNanos(), TimeUnit.NANOSECONDS))
          .map(part -> new Part(part.getBlob().toByteArray(), part.getRemainingBytes()));
    } catch (TimeoutException silent) {
      throw failed(
          Status.DEADLINE_EXCEEDED.withDescription(
              "no part came within " + within.toSeconds() + " s"),
          silent);
    } catch (StatusException ended) {
      throw failed(ended.getStatus(), ended);
    }
  }

  private EtcdException failed(Status status, Exception cause) {
    // A snapshot changes nothing, so no outcome is unknown.
    return EtcdFailure.of(status, false).exception(WHAT, endpoint, status, cause);
  }

  /** Ends the call, also before the end of the snapshot. */
  @Override
  public void close() {
    call.cancel("the reader needs no more of the snapshot", null);
    // gRPC keeps the buffers of a part that has arrived until it is read.
    boolean more = true;
    while (more) {
      more = Uninterrupted.call(this::readRest);
    }
  }

  private boolean readRest() throws InterruptedException {
    try {
      return next(REST).isPresent();
    } catch (EtcdException ended) {
      return false;
    }
  }
}
