package dev.polis.convergence;

/** Reports that no node gave a plugin's file; the message names each node with its reason. */
final class FetchException extends Exception {
  private static final long serialVersionUID = 1L;

  FetchException(String message) {
    super(message);
  }

  FetchException(String message, Throwable cause) {
    super(message, cause);
  }
}
