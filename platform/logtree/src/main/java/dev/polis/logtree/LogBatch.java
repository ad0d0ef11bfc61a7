package dev.polis.logtree;

import java.util.List;

/**
 * Holds the entries that a reader gets at once, and how many it missed.
 *
 * @param entries in sequence order; empty if a wait with a limit ended
 * @param missed how many entries that match the query came after these, found the reader's buffer
 *     full, and were dropped
 */
public record LogBatch(List<LogEntry> entries, long missed) {
  /** Copies the entries. */
  public LogBatch {
    entries = List.copyOf(entries);
  }
}
