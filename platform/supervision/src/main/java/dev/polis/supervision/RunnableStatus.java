package dev.polis.supervision;

import java.time.Instant;

/**
 * Describes one runnable at one moment.
 *
 * @param dn its distinguished name
 * @param state its state
 * @param since the time at which it entered that state
 * @param restarts the number of its restarts, with those of its parents
 * @param lastError the reason of its last death in one line; empty if it never died
 * @param restart the time of its next start, if known
 * @param overdue true if it was cancelled 5 s ago or more and has not returned
 */
public record RunnableStatus(
    String dn,
    RunState state,
    Instant since,
    long restarts,
    String lastError,
    NextRestart restart,
    boolean overdue) {}
