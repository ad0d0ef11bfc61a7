package dev.polis.plugins.store;

import java.nio.file.Path;

/**
 * Reports that the store, or a file that should enter it, is damaged or missing. The message names
 * the file, what is wrong with it, and what to do next.
 */
public final class PluginStoreException extends Exception {
  private static final long serialVersionUID = 1;

  private final transient Path file;

  PluginStoreException(Path file, String what, String next) {
    this(file, what, next, null);
  }

  PluginStoreException(Path file, String what, String next, Throwable cause) {
    super(file + ": " + what + "; " + next, cause);
    this.file = file;
  }

  /**
   * @return the file that is wrong
   */
  public Path file() {
    return file;
  }
}
