package dev.polis.curator;

import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdFencedException;
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.EtcdUnavailableException;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;

/** Runs the body of a unary call against the present leader and turns its failures into answers. */
final class LeaderCalls {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private LeaderCalls() {}

  /** The body of a call. */
  @FunctionalInterface
  interface Body<T> {
    T run(LeaderTerm term) throws InterruptedException;
  }

  static <T> void unary(LeaderGate gate, StreamObserver<T> caller, Body<T> body) {
    T response = answer(() -> body.run(gate.require()));
    caller.onNext(response);
    caller.onCompleted();
  }

  /** What may throw anything the layers below throw. */
  @FunctionalInterface
  interface Attempt<T> {
    T run() throws InterruptedException;
  }

  static <T> T answer(Attempt<T> attempt) {
    try {
      return attempt.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RpcException(Status.Code.CANCELLED, "the call was cancelled", e);
    } catch (EtcdException e) {
      throw translate(e);
    }
  }

  private static RpcException translate(EtcdException failure) {
    return switch (failure) {
      case EtcdFencedException fenced ->
          RpcException.unavailable(
              "this curator has just lost leadership; ask for the leader again", RETRY);
      case EtcdUnavailableException unavailable ->
          RpcException.unavailable("consensus does not answer: " + unavailable.getMessage(), RETRY);
      case EtcdClosedException closed ->
          RpcException.unavailable("this curator is being replaced; try again", RETRY);
      case EtcdOutcomeUnknownException unknown ->
          new RpcException(
              Status.Code.UNKNOWN,
              "consensus did not say whether the change was made; look before you repeat it",
              unknown);
      default -> new RpcException(Status.Code.INTERNAL, "consensus failed", failure);
    };
  }
}
