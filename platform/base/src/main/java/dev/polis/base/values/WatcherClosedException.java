package dev.polis.base.values;

/** Reports that a watcher was asked for a value after, or while, it was closed. */
public final class WatcherClosedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message which watcher, and what to do instead
   */
  public WatcherClosedException(String message) {
    super(message);
  }
}
