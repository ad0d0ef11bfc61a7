package dev.polis.etcd;

import dev.polis.base.boot.FailureText;
import io.grpc.Status;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;

/** Classifies a failed call by its effect, and makes the exception for the caller. */
enum EtcdFailure {
  /** The call had no effect; another attempt may succeed. */
  UNAVAILABLE,
  /** The call may have had its effect. */
  UNKNOWN,
  /** etcd refused the call for good, without effect. */
  REFUSED,
  /** etcd refused the call for good, because of the caller's rights. */
  DENIED,
  /** etcd refused the call for good, because the revision is compacted. */
  COMPACTED;

  boolean isFinal() {
    return this == REFUSED || this == DENIED || this == COMPACTED;
  }

  /**
   * Classifies a failure.
   *
   * @param sent whether the request had reached a transport
   */
  static EtcdFailure of(Status status, boolean sent) {
    return switch (EtcdError.of(description(status))) {
      case NO_LEADER, TOO_MANY_REQUESTS, OLD_AUTH_REVISION, LEARNER -> UNAVAILABLE;
      case COMPACTED -> COMPACTED;
      case PERMISSION_DENIED -> DENIED;
      case NOT_IN_SYNC, UNHEALTHY, NO_SPACE, LEASE_NOT_FOUND, LEASE_EXISTS -> REFUSED;
      case OTHER -> of(status.getCode(), sent);
    };
  }

  private static EtcdFailure of(Status.Code code, boolean sent) {
    return switch (code) {
      case PERMISSION_DENIED, UNAUTHENTICATED -> DENIED;
      case OUT_OF_RANGE,
          INVALID_ARGUMENT,
          FAILED_PRECONDITION,
          NOT_FOUND,
          ALREADY_EXISTS,
          RESOURCE_EXHAUSTED,
          UNIMPLEMENTED ->
          REFUSED;
      default -> sent ? UNKNOWN : UNAVAILABLE;
    };
  }

  EtcdException exception(String what, EtcdEndpoint endpoint, Status status, Throwable cause) {
    String text = "etcd at " + endpoint + ": " + what + ": ";
    String answer = status.getCode() + " (" + description(status) + ")" + root(status);
    return switch (this) {
      case UNAVAILABLE ->
          new EtcdUnavailableException(
              text + "no answer: " + answer + ". Nothing was applied; " + check(cause), cause);
      case UNKNOWN ->
          new EtcdOutcomeUnknownException(
              text
                  + "sent, but its outcome is unknown: "
                  + answer
                  + ". Read the key before writing again",
              cause);
      case REFUSED ->
          new EtcdRefusedException(
              text + "refused: " + answer + ". Nothing was applied",
              EtcdError.of(description(status)),
              cause);
      case DENIED ->
          new EtcdPermissionException(
              text
                  + "denied: "
                  + answer
                  + ". Check the user's role and the client certificate's common name",
              cause);
      case COMPACTED ->
          new EtcdCompactedException(
              text + "that revision is compacted: " + answer + ". Read the present state", cause);
    };
  }

  /** Returns what to look at; a certificate outside its time proves a clock, and no lost quorum. */
  private static String check(Throwable cause) {
    boolean isLate =
        FailureText.causes(cause).stream()
            .anyMatch(
                each ->
                    each instanceof CertificateExpiredException
                        || each instanceof CertificateNotYetValidException
                        || String.valueOf(each.getMessage()).contains("certificate_expired"));
    return isLate
        ? "the certificate is not valid by the clock of one side: compare date -u on this machine and on the other members, and set the wrong clock"
        : "check that a quorum is up";
  }

  private static String description(Status status) {
    return status.getDescription() == null ? "no details" : status.getDescription();
  }

  private static String root(Status status) {
    return status.getCause() == null ? "" : ", caused by " + status.getCause();
  }
}
