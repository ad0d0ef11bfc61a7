package dev.polis.rpc.audit;

/** Names the kinds of records. */
public enum AuditKind {
  /** Begins a file and names the last record of the file before. */
  FILE,
  /** Records that a changing call begins. */
  BEGIN,
  /** Records the outcome of a call that has a BEGIN. */
  END,
  /** Records a call without a BEGIN: it ended before its handler began, or a stranger made it. */
  CALL,
  /** Counts the refused calls of strangers. */
  REFUSALS,
  /** Counts the reports of nodes about themselves. */
  REPORTS,
  /** Records an event that is no call: a swap, a line of the shell, a repair of this log. */
  NOTE
}
