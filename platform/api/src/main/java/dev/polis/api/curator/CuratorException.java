package dev.polis.api.curator;

/** The curator refused or failed; the message says what, where and what to do next. */
public final class CuratorException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CuratorException(String message) {
    super(message);
  }

  public CuratorException(String message, Throwable cause) {
    super(message, cause);
  }
}
