package dev.polis.plugins.store;

import java.nio.file.Path;

/**
 * Reports that the store, or a file that should enter it, is damaged or missing. The message names
 * the file, what is wrong with it, and what to do next.
 */
public final class PluginStoreException extends Exception {
  private static final long serialVersionUID = 1;

  private final transient Path file;
  private final String fault;

  PluginStoreException(Path file, String what, String next) {
    this(file, what, next, null);
  }

  PluginStoreException(Path file, String what, String next, Throwable cause) {
    super(file + ": " + what + "; " + next, cause);
    this.file = file;
    this.fault = file + ": " + what;
  }

  /**
   * @return the file that is wrong
   */
  public Path file() {
    return file;
  }

  /**
   * @return the file and what is wrong with it, without what to do next
   */
  public String fault() {
    return fault;
  }
}
