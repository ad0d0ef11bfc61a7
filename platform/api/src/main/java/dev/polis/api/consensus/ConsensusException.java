package dev.polis.api.consensus;

/** Consensus refused or failed; the message says what, where and what to do next. */
public final class ConsensusException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ConsensusException(String message) {
    super(message);
  }

  public ConsensusException(String message, Throwable cause) {
    super(message, cause);
  }
}
