package dev.polis.etcd;

import java.util.List;

/** Holds one delivery of a watch. Revisions never decrease, and no revision comes twice. */
public sealed interface WatchUpdate {

  /** Returns the revision up to and including which the watch is complete. */
  long revision();

  /** Holds all changes of one revision for the watch, never split. */
  record Changes(long revision, List<WatchEvent> events) implements WatchUpdate {
    public Changes {
      events = List.copyOf(events);
    }
  }

  /**
   * Holds the whole range at a revision. It is the first update of a watch that begins with a
   * snapshot, and replaces changes that were compacted before a watch got them. Other keys do not
   * exist.
   *
   * @param compacted newest revision known to be compacted, 0 for the first snapshot of a watch;
   *     changes between the previous update and {@code revision} are only visible in their result
   */
  record Snapshot(long revision, List<KeyValue> keys, long compacted) implements WatchUpdate {
    public Snapshot {
      keys = List.copyOf(keys);
    }
  }

  /** Is a bookmark: all changes up to this revision were delivered. */
  record Progress(long revision) implements WatchUpdate {}
}
