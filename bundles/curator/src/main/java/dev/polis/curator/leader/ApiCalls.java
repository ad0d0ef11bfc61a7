package dev.polis.curator.leader;

import dev.polis.curator.record.ChangeId;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdError;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdFencedException;
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.EtcdPermissionException;
import dev.polis.etcd.EtcdRefusedException;
import dev.polis.etcd.EtcdUnavailableException;
import dev.polis.pki.PkiConflictException;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Optional;

/** Runs the bodies of API calls and translates failures of etcd into gRPC statuses. */
public final class ApiCalls {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private ApiCalls() {}

  /** Computes the response of a unary call. */
  @FunctionalInterface
  public interface Body<T> {
    T run(LeaderTerm term) throws InterruptedException;
  }

  /** Answers a unary call with the result of its body under the present leadership. */
  public static <T> void unary(LeaderGate gate, StreamObserver<T> caller, Body<T> body) {
    T response;
    try {
      response = run(() -> gate.during(term -> once(term, body)));
    } catch (RpcException failure) {
      throw ChangeId.current().isPresent() && failure.code() == Status.Code.UNKNOWN
          ? RpcException.unknown(
              "this leadership ended, or consensus did not answer, during the change; repeat the"
                  + " call with the same id to learn the outcome",
              RETRY,
              failure)
          : failure;
    }
    caller.onNext(response);
    caller.onCompleted();
  }

  /**
   * Runs the body of a call, unless the change that it makes was made before. A refusal, too, may
   * be the consequence of an earlier attempt that has been made meanwhile.
   */
  private static <T> T once(LeaderTerm term, Body<T> body) throws InterruptedException {
    Optional<ChangeId> change = ChangeId.current();
    if (change.isEmpty()) {
      return body.run(term);
    }
    Optional<T> before = term.records().remembered(change.get());
    if (before.isPresent()) {
      return before.get();
    }
    T response;
    try {
      response = body.run(term);
    } catch (RpcException refused) {
      Optional<T> meanwhile = term.records().rememberedHere(change.get());
      if (meanwhile.isPresent()) {
        return meanwhile.get();
      }
      throw refused;
    }
    Optional<T> remembered = term.records().rememberedHere(change.get());
    return remembered.orElse(response);
  }

  /** Does a part of a call's work, which may fail with an exception of etcd. */
  @FunctionalInterface
  public interface Attempt<T> {
    T run() throws InterruptedException;
  }

  /**
   * Runs a part of a call's work.
   *
   * @throws RpcException in place of a failure of etcd, or of an interrupt
   */
  public static <T> T run(Attempt<T> attempt) {
    try {
      return translating(attempt);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RpcException(Status.Code.CANCELLED, "the call was cancelled", e);
    }
  }

  /**
   * Runs a part of the work of a stream, which handles interrupts itself.
   *
   * @throws RpcException in place of a failure of etcd
   */
  public static <T> T translating(Attempt<T> attempt) throws InterruptedException {
    try {
      return attempt.run();
    } catch (EtcdException e) {
      throw translate(e);
    } catch (PkiConflictException busy) {
      throw RpcException.unavailable(busy.getMessage(), RETRY);
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
          RpcException.unavailable("another version replaces this curator; try again", RETRY);
      case EtcdOutcomeUnknownException unknown ->
          new RpcException(
              Status.Code.UNKNOWN,
              "consensus did not say whether the change was made; read the record before you repeat"
                  + " the call",
              unknown);
      case EtcdRefusedException refused when refused.error() == EtcdError.OTHER ->
          new RpcException(
              Status.Code.OUT_OF_RANGE,
              "consensus refuses the size of this change; make it smaller; nothing was changed",
              refused);
      case EtcdRefusedException full when full.error() == EtcdError.NO_SPACE ->
          new RpcException(
              Status.Code.RESOURCE_EXHAUSTED,
              "etcd's database is full, so etcd takes no writes (%s); nothing was changed. The node makes room within seconds where it can; polisctl health says then what to do"
                  .formatted(full.getMessage()),
              full);
      case EtcdPermissionException denied ->
          RpcException.unavailable(
              "etcd does not let the curator read or change its records: a client has taken rights of etcd's user curator away;"
                  + " the nodes give them back within a minute, and polisctl health then says what was missing; try again",
              RETRY);
      default ->
          new RpcException(
              Status.Code.INTERNAL, "consensus failed: " + failure.getMessage(), failure);
    };
  }
}
