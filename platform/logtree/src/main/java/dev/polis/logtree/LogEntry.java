package dev.polis.logtree;

import java.util.Objects;

/**
 * Holds one entry of a journal.
 *
 * @param dn distinguished name of the journal
 * @param sequence place in the order of the whole tree; grows by one for each entry, and never
 *     returns to an earlier value, also not after the process was restarted
 * @param payload what it says
 */
public record LogEntry(String dn, long sequence, LogPayload payload) {
  /** Refuses nulls; a sequence number is given by the tree. */
  public LogEntry {
    Objects.requireNonNull(dn, "dn");
    Objects.requireNonNull(payload, "payload");
  }
}
