package dev.polis.ctl.console;

import dev.polis.logtree.LogEntry;
import java.time.Instant;
import java.util.List;

/**
 * Holds all that a page shows.
 *
 * @param now the time of the page
 * @param asked what the last question has found out
 * @param part the name in the supervision tree whose log is shown; empty for all
 * @param log the last entries of that log, the oldest first
 * @param logOnly whether the log has the whole page
 * @param prompt the question at the foot of the page
 * @param typed the answer so far; of a recovery key as many stars
 * @param note what the last key has done; may be empty
 * @param keys the keys that do something, as text
 */
record ConsoleState(
    Instant now,
    ConsoleFacts.Asked asked,
    String part,
    List<LogEntry> log,
    boolean logOnly,
    Prompt prompt,
    String typed,
    String note,
    String keys) {

  /** A question that the person answers with a line. */
  enum Prompt {
    NONE,
    PART,
    RECOVERY_KEY
  }
}
