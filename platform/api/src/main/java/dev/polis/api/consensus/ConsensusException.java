package dev.polis.api.consensus;

/**
 * Reports a refusal or failure of consensus; the message names the problem, the place and the
 * remedy.
 */
public final class ConsensusException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ConsensusException(String message) {
    super(message);
  }

  public ConsensusException(String message, Throwable cause) {
    super(message, cause);
  }
}
