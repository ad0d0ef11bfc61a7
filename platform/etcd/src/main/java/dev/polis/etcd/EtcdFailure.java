package dev.polis.etcd;

import io.grpc.Status;

/** What a failed call says about its effect, and the exception that tells the caller. */
enum EtcdFailure {
  /** Known to have had no effect; another attempt may do better. */
  UNAVAILABLE,
  /** It may have had its effect. */
  UNKNOWN,
  /** Refused for good, without effect. */
  REFUSED,
  DENIED,
  COMPACTED;

  boolean isFinal() {
    return this == REFUSED || this == DENIED || this == COMPACTED;
  }

  /**
   * Judges a failure.
   *
   * @param sent whether the request had reached a transport
   */
  static EtcdFailure of(Status status, boolean sent) {
    String words = words(status);
    if (words.contains("etcdserver: no leader")
        || words.contains("etcdserver: too many requests")
        || words.contains("etcdserver: revision of auth store is old")
        || words.contains("etcdserver: rpc not supported for learner")) {
      return UNAVAILABLE;
    }
    return switch (status.getCode()) {
      case PERMISSION_DENIED, UNAUTHENTICATED -> DENIED;
      case OUT_OF_RANGE -> words.contains("compacted") ? COMPACTED : REFUSED;
      case INVALID_ARGUMENT,
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
    String answer = status.getCode() + " (" + words(status) + ")" + root(status);
    return switch (this) {
      case UNAVAILABLE ->
          new EtcdUnavailableException(
              text + "no answer: " + answer + ". Nothing was applied; check that a quorum is up",
              cause);
      case UNKNOWN ->
          new EtcdOutcomeUnknownException(
              text
                  + "sent, but its outcome is unknown: "
                  + answer
                  + ". Read the key before writing again",
              cause);
      case REFUSED ->
          new EtcdRefusedException(text + "refused: " + answer + ". Nothing was applied", cause);
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

  static String words(Status status) {
    return status.getDescription() == null ? "no details" : status.getDescription();
  }

  private static String root(Status status) {
    return status.getCause() == null ? "" : ", caused by " + status.getCause();
  }
}
