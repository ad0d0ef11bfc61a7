package dev.polis.base.values;

/** Reports a get of a closed watcher. */
public final class WatcherClosedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message the watcher and the remedy
   */
  public WatcherClosedException(String message) {
    super(message);
  }
}
