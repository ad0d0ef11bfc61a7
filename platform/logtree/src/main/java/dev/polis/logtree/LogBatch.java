package dev.polis.logtree;

import java.util.List;

/**
 * Holds the entries of one read, and the number of missed ones.
 *
 * @param entries in sequence order; empty if a wait with a limit ended
 * @param missed the number of later matching entries that were dropped because the reader's buffer
 *     was full
 */
public record LogBatch(List<LogEntry> entries, long missed) {
  /** Copies the entries. */
  public LogBatch {
    entries = List.copyOf(entries);
  }
}
