package dev.polis.base.boot;

import java.time.Duration;

/**
 * Describes a wait that has not ended yet.
 *
 * @param name the awaited event, as a text for people
 * @param detail what is going on inside the wait; may be empty
 * @param lasted how long it has been open
 */
public record OpenWait(String name, String detail, Duration lasted) {}
