package dev.polis.plugins.metatype;

/**
 * Reports that a configuration has no such key, or that a value does not fit the key; the message
 * names both, and what may have been meant.
 */
public final class UnfitSettingException extends Exception {
  private static final long serialVersionUID = 1;

  UnfitSettingException(String message) {
    super(message);
  }

  UnfitSettingException(String message, Throwable cause) {
    super(message, cause);
  }
}
