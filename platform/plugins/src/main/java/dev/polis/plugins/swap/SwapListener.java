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
 * <p>A thread of the swap calls the methods one after the other and waits for them, so an
 * implementation returns at once. The engine logs an exception and continues. It interrupts a
 * method that takes longer than a bundle may take to stop, and continues.
 */
@ConsumerType
public interface SwapListener {

  /**
   * Announces a swap: the successors are installed, and none of them has started.
   *
   * @param replacements the replacements
   */
  default void begins(List<Replacement> replacements) {}

  /**
   * Announces that the predecessors stop next, while their successors run.
   *
   * @param replacements the replacements; a swap that is reverted calls this again, with each
   *     replacement reversed
   */
  default void switches(List<Replacement> replacements) {}

  /**
   * Announces the end of a swap, after which none of its bundles starts or stops.
   *
   * @param replacements the replacements of {@link #begins}; a swap that was reverted only in part
   *     calls this once for the reverted part, and once for the rest
   * @param applied true if the successors stay, false if the predecessors do
   */
  default void ends(List<Replacement> replacements, boolean applied) {}
}
