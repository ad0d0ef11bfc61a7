package dev.polis.supervision;

import java.time.Instant;

/**
 * Describes a change of a runnable's state.
 *
 * @param dn the runnable
 * @param from the state before; DEAD for a runnable's first start
 * @param to the state now
 * @param time the time of the change
 * @param reason the reason in one line; empty if the states are clear enough
 */
public record Transition(String dn, RunState from, RunState to, Instant time, String reason) {}
