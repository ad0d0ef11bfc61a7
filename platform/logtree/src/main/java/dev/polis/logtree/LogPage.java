package dev.polis.logtree;

import java.util.List;

/**
 * Holds a part of a reader's backlog.
 *
 * @param entries in sequence order; empty after the last one
 * @param gap true if entries before or among these were dropped since the reader was opened,
 *     because it read more slowly than the log grew
 */
public record LogPage(List<LogEntry> entries, boolean gap) {
  /** Copies the entries. */
  public LogPage {
    entries = List.copyOf(entries);
  }
}
