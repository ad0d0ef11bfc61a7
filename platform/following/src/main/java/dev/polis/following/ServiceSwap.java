package dev.polis.following;

import java.time.Duration;
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
   * Makes new calls wait, and waits for those under way. Each call waits for a limited time, 30 s,
   * and fails then with a {@link ServiceAwayException}. Watchers of values stay with the
   * predecessor for the time being.
   *
   * @param drain how long to wait for calls under way at most
   * @return whether all calls under way have ended
   */
  boolean hold(Duration drain);

  /**
   * Sends calls to a successor from now on: those that wait, new ones, and watchers. Then waits for
   * the calls under way on the predecessor, 5 s at most, so that it can be retired.
   *
   * @param successor a bundle that provides the same contracts
   * @throws IllegalStateException if it does not provide one of them, or the component that does
   *     cannot be activated; nothing was changed then
   */
  void switchTo(Bundle successor);

  /**
   * Sends calls to the predecessor again.
   *
   * @throws IllegalStateException if it does not provide them any more
   */
  void revert();

  /**
   * Ends the swap: calls no longer wait. A contract without a provider now loses its proxy, and its
   * users are stopped. Further calls do nothing.
   */
  @Override
  void close();
}
