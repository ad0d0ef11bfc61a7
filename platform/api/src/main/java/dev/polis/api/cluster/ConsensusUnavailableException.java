package dev.polis.api.cluster;

/**
 * Reports that the node's present state allows no use of consensus; the message names the state.
 */
public final class ConsensusUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ConsensusUnavailableException(String message) {
    super(message);
  }

  public ConsensusUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
