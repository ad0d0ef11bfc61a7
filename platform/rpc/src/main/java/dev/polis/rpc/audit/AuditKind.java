package dev.polis.rpc.audit;

/** Names the kinds of records. */
public enum AuditKind {
  /** Begins a file: names the last record of the file before. */
  FILE,
  /** Says that a mutating call begins. */
  BEGIN,
  /** Says how a call that had a BEGIN ended. */
  END,
  /** Says that a call ended before it reached its handler, or came from a stranger and was done. */
  CALL,
  /** Counts the calls that strangers were refused. */
  REFUSALS,
  /** Counts what nodes reported about themselves. */
  REPORTS,
  /** Tells something that was no call: a swap, a line of the shell, a repair of this log. */
  NOTE
}
