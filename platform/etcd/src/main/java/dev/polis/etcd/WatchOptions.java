package dev.polis.etcd;

import java.util.EnumSet;
import java.util.Set;

/**
 * Holds the options of a watch.
 *
 * @param start the begin of the watch
 * @param previous true to deliver also the key before each change
 * @param bookmarks deliver {@link WatchUpdate.Progress}
 * @param types kinds of change to deliver
 * @param buffer the most changes that wait for a slow reader; beyond it the client suspends the
 *     watch at etcd, and continues it at the same place once the reader has caught up
 */
public record WatchOptions(
    Start start, boolean previous, boolean bookmarks, Set<WatchEvent.Type> types, int buffer) {

  /** Selects the begin of a watch. */
  public sealed interface Start {}

  /** Begins at the newest revision when the watch is opened. */
  public record Now() implements Start {}

  /** Begins with a snapshot of the range. */
  public record FromSnapshot() implements Start {}

  /** Begins with the changes of this revision. */
  public record FromRevision(long revision) implements Start {
    public FromRevision {
      if (revision < 1) {
        throw new IllegalArgumentException(
            "a watch cannot begin at revision " + revision + "; the first is 1");
      }
    }
  }

  // A thousand small records: some hundred KiB for each slow reader.
  private static final int DEFAULT_BUFFER = 1024;

  public WatchOptions {
    types = Set.copyOf(types);
    if (types.isEmpty() || buffer < 1) {
      throw new IllegalArgumentException(
          "a watch needs at least one type of change and a buffer of at least 1, not "
              + types
              + " and "
              + buffer);
    }
  }

  private static WatchOptions starting(Start start) {
    return new WatchOptions(
        start, false, false, EnumSet.allOf(WatchEvent.Type.class), DEFAULT_BUFFER);
  }

  public static WatchOptions now() {
    return starting(new Now());
  }

  public static WatchOptions snapshot() {
    return starting(new FromSnapshot());
  }

  public static WatchOptions from(long revision) {
    return starting(new FromRevision(revision));
  }

  public WatchOptions withPrevious() {
    return new WatchOptions(start, true, bookmarks, types, buffer);
  }

  public WatchOptions withBookmarks() {
    return new WatchOptions(start, previous, true, types, buffer);
  }

  public WatchOptions only(WatchEvent.Type type) {
    return new WatchOptions(start, previous, bookmarks, Set.of(type), buffer);
  }

  public WatchOptions withBuffer(int most) {
    return new WatchOptions(start, previous, bookmarks, types, most);
  }
}
