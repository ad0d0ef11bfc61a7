package dev.polis.convergence;

/** A plugin's file could not be fetched; the message says from whom and why not. */
final class FetchException extends Exception {
  private static final long serialVersionUID = 1L;

  FetchException(String message) {
    super(message);
  }

  FetchException(String message, Throwable cause) {
    super(message, cause);
  }
}
