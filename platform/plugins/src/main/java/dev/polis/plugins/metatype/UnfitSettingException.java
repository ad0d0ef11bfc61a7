package dev.polis.plugins.metatype;

/**
 * Reports an unknown key of a configuration, or a value that does not fit; the message names both,
 * and the closest known key.
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
