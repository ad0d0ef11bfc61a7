package dev.polis.etcd;

import java.util.List;

/**
 * Holds what a watch delivers at once. Revisions never go back and no revision is delivered twice.
 */
public sealed interface WatchUpdate {

  /** Returns the revision up to which, itself included, the watch is complete. */
  long revision();

  /** All changes of one revision that concern the watch, never split. */
  record Changes(long revision, List<WatchEvent> events) implements WatchUpdate {
    public Changes {
      events = List.copyOf(events);
    }
  }

  /**
   * The whole range as of a revision: the first update of a watch that began with a snapshot, and
   * what any watch gets when the changes it had yet to see were compacted away. Keys that are not
   * in it do not exist.
   *
   * @param compacted newest revision known to be compacted, 0 for the first snapshot of a watch;
   *     changes between the previous update and {@code revision} are only visible in their result
   */
  record Snapshot(long revision, List<KeyValue> keys, long compacted) implements WatchUpdate {
    public Snapshot {
      keys = List.copyOf(keys);
    }
  }

  /** A bookmark: nothing happened up to this revision that was not delivered. */
  record Progress(long revision) implements WatchUpdate {}
}
