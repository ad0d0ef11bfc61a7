package dev.polis.plugins.store;

import java.nio.file.Path;

/**
 * Reports that the store, or a file for it, is damaged or missing; the message names the file, the
 * fault and the remedy.
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
   * @return the faulty file
   */
  public Path file() {
    return file;
  }

  /**
   * @return the file and its fault, without the remedy
   */
  public String fault() {
    return fault;
  }
}
