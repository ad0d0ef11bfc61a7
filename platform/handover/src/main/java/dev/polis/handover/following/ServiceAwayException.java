package dev.polis.handover.following;

/** A service was called that no bundle provides at present. The call did not reach any provider. */
public final class ServiceAwayException extends RuntimeException {
  private static final long serialVersionUID = 1;

  ServiceAwayException(String message) {
    super(message);
  }
}
