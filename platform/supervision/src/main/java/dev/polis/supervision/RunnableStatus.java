package dev.polis.supervision;

import java.time.Instant;

/**
 * Describes one runnable at one moment.
 *
 * @param dn its distinguished name
 * @param state where it is in its life
 * @param since when it entered that state
 * @param restarts how often it was started again, restarts of its parents included
 * @param lastError why it died last, in one line; empty if it never did
 * @param restart when it starts again, if that is settled
 * @param overdue whether it was cancelled 5 s ago or more and has not returned
 */
public record RunnableStatus(
    String dn,
    RunState state,
    Instant since,
    long restarts,
    String lastError,
    NextRestart restart,
    boolean overdue) {}
