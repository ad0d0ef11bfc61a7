package dev.polis.handover.following;

import dev.polis.base.values.Value;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;
import org.osgi.framework.Bundle;

/** Shows who provides the contracts of organs, and lets a provider be replaced. Thread-safe. */
@ProviderType
public interface FollowedServices {

  /** Returns one entry for each contract that is followed; never empty. */
  Value<List<FollowedService>> all();

  /**
   * Announces that a bundle is about to be replaced by another one, which is not started yet. From
   * now on the proxies of the contracts that it provides stay, also while no bundle provides them:
   * calls wait then, for a limited time. Calls go to the successor as soon as its component is
   * active; if it cannot be activated or goes again, they go to the predecessor.
   *
   * @param predecessor the bundle; if it provides no contract that is followed, the swap does
   *     nothing
   * @param successor the bundle that comes; may be the predecessor, which then provides again
   * @return the swap, which the caller closes
   * @throws IllegalStateException if a swap of the bundle is under way
   */
  ServiceSwap begin(Bundle predecessor, Bundle successor);
}
