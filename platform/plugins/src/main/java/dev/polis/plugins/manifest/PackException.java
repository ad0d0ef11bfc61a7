package dev.polis.plugins.manifest;

/**
 * Reports that a bundle cannot be packed; the message names the bundle, the reason and the remedy.
 */
public final class PackException extends Exception {
  private static final long serialVersionUID = 1;

  PackException(String message) {
    super(message);
  }

  PackException(String message, Throwable cause) {
    super(message, cause);
  }
}
