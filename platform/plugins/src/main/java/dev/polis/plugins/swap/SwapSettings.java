package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.Objects;
import java.util.Set;

/**
 * How long a swap waits for what.
 *
 * @param healthy for how long everything has to be well without a break
 * @param deadline how long a gate waits for that
 * @param start how long the activation of the successors may take
 * @param stop how long a bundle may take to stop
 * @param unloaded how long the classes of a version that is gone may stay in memory
 * @param limits how much more than before the process may use meanwhile
 * @param alone organs that work only when their predecessors have ended; they are not judged beside
 *     them
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
