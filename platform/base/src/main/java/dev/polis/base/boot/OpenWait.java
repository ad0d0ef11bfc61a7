package dev.polis.base.boot;

import java.time.Duration;

/**
 * Describes a wait that has not ended yet.
 *
 * @param name the awaited event, as a text for people
 * @param detail the progress inside the wait; may be empty
 * @param lasted the time since the wait began
 */
public record OpenWait(String name, String detail, Duration lasted) {}
