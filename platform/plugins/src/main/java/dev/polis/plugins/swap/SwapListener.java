package dev.polis.plugins.swap;

import java.util.List;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Learns of each swap before services go and come because of it. A bundle of the platform registers
 * it as a service.
 *
 * <pre>
 *   begins ──▶ the successors start ──▶ switches ──▶ the predecessors stop ──▶ ends(applied)
 *                     │                                    │
 *                     └─ fails ──▶ ends(not applied)       └─ fails ──▶ switches (reversed) ──▶ the predecessors
 *                                                                       start, the successors stop ──▶ ends(not applied)
 * </pre>
 *
 * <p>The methods are called one after the other, by a thread of the swap, which waits for them: an
 * implementation returns at once. What it throws is logged and ends nothing. One that does not
 * return within the time that a bundle has to stop is interrupted, and the swap continues.
 */
@ConsumerType
public interface SwapListener {

  /**
   * Announces a swap: the successors are installed, and none of them has been started.
   *
   * @param replacements what takes the place of what
   */
  default void begins(List<Replacement> replacements) {}

  /**
   * Announces that the predecessors are stopped next, while their successors run.
   *
   * @param replacements what takes the place of what; a swap that is reverted calls this again,
   *     with each replacement reversed
   */
  default void switches(List<Replacement> replacements) {}

  /**
   * Says that a swap is over: nothing that belongs to it will be started or stopped any more.
   *
   * @param replacements as they were announced with {@link #begins}; a swap that could be reverted
   *     in part alone calls this once for what was, and once for the rest
   * @param applied true if the successors stay, false if the predecessors do
   */
  default void ends(List<Replacement> replacements, boolean applied) {}
}
