package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.Objects;
import java.util.Set;

/**
 * Holds the limits of a swap.
 *
 * @param healthy the time for which the node has to be healthy without a break
 * @param deadline the longest wait of a gate for that
 * @param start the longest activation of the successors
 * @param stop the longest stop of a bundle
 * @param unloaded the longest time for which the classes of a removed version may stay in memory
 * @param limits the additional use of the process meanwhile
 * @param alone the organs that work only after the end of their predecessors; a gate does not judge
 *     them beside these
 */
public record SwapSettings(
    Duration healthy,
    Duration deadline,
    Duration start,
    Duration stop,
    Duration unloaded,
    ResourceLimits limits,
    Set<String> alone) {
  /** Copies the names. */
  public SwapSettings {
    Objects.requireNonNull(healthy, "healthy");
    Objects.requireNonNull(deadline, "deadline");
    Objects.requireNonNull(start, "start");
    Objects.requireNonNull(stop, "stop");
    Objects.requireNonNull(unloaded, "unloaded");
    Objects.requireNonNull(limits, "limits");
    alone = Set.copyOf(alone);
  }
}
