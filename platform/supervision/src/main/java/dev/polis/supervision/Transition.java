package dev.polis.supervision;

import java.time.Instant;

/**
 * Describes a change of a runnable's state.
 *
 * @param dn whose
 * @param from the state before; DEAD for a runnable's first start
 * @param to the state now
 * @param time when
 * @param reason why, in one line; empty where the states say it all
 */
public record Transition(String dn, RunState from, RunState to, Instant time, String reason) {}
