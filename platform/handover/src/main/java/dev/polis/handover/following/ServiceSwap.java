package dev.polis.handover.following;

import java.util.Set;
import org.osgi.annotation.versioning.ProviderType;
import org.osgi.framework.Bundle;

/**
 * Replaces the provider of all contracts that one bundle provides. Its steps are called one after
 * the other, by any thread. An interrupt shortens a wait for calls under way, and stays set.
 */
@ProviderType
public interface ServiceSwap extends AutoCloseable {

  /** Returns the names of the contracts whose provider is replaced. */
  Set<String> contracts();

  /** Returns whether a bundle provides all of the contracts at present. */
  boolean providedBy(Bundle bundle);

  /**
   * Sends calls to a bundle from now on, the successor or the predecessor: those that wait, new
   * ones, and watchers. Then waits for the calls under way on the other one, 5 s at most, so that
   * it can be retired.
   *
   * @param next a bundle that provides the same contracts
   * @throws IllegalStateException if it does not provide one of them, or the component that does
   *     cannot be activated; nothing was changed then
   */
  void switchTo(Bundle next);

  /**
   * Ends the swap: calls no longer wait. A contract without a provider now loses its proxy, and its
   * users are stopped. Further calls do nothing.
   */
  @Override
  void close();
}
