package dev.polis.logtree;

import java.util.Objects;

/**
 * Holds one entry of a journal.
 *
 * @param dn distinguished name of the journal
 * @param sequence place in the order of the whole tree; grows by one for each entry, and never
 *     returns to an earlier value, even after a restart of the process
 * @param payload the content
 */
public record LogEntry(String dn, long sequence, LogPayload payload) {
  /** Refuses nulls. The tree chooses the sequence number. */
  public LogEntry {
    Objects.requireNonNull(dn, "dn");
    Objects.requireNonNull(payload, "payload");
  }
}
