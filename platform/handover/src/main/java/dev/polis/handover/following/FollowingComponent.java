package dev.polis.handover.following;

import dev.polis.base.values.Value;
import dev.polis.handover.HandOverListener;
import dev.polis.logtree.LogTree;
import dev.polis.plugins.graph.FollowedContract;
import dev.polis.plugins.graph.FollowedContractSource;
import dev.polis.plugins.plan.Offer;
import dev.polis.plugins.swap.Replacement;
import dev.polis.plugins.swap.SwapListener;
import java.time.InstantSource;
import java.util.List;
import org.osgi.annotation.bundle.Capability;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Follows the contracts that say so. */
@Component(
    service = {
      FollowedServices.class,
      SwapListener.class,
      HandOverListener.class,
      FollowedContractSource.class
    },
    immediate = true)
@Capability(namespace = Offer.EXTENDER, name = Offer.FOLLOWER, version = "1.0.0")
public final class FollowingComponent
    implements FollowedServices, SwapListener, HandOverListener, FollowedContractSource {
  private final LocalFollowedServices services;
  private final FollowedSwaps swaps;

  /**
   * Begins to follow.
   *
   * @param context of this bundle
   * @param logs where changes of providers are logged
   */
  @Activate
  public FollowingComponent(BundleContext context, @Reference LogTree logs) {
    services =
        LocalFollowedServices.open(
            context, FollowingLimits.DEFAULT, logs.log("following"), InstantSource.system());
    swaps = new FollowedSwaps(context, services);
  }

  @Override
  public Value<List<FollowedService>> all() {
    return services.all();
  }

  @Override
  public List<FollowedContract> contracts() {
    return services.all().peek().orElse(List.of()).stream().map(FollowedService::forGraph).toList();
  }

  @Override
  public ServiceSwap begin(Bundle predecessor, Bundle successor) {
    return services.begin(predecessor, successor);
  }

  @Override
  public void begins(List<Replacement> replacements) {
    swaps.begins(replacements);
  }

  @Override
  public void switches(List<Replacement> replacements) {
    swaps.switches(replacements);
  }

  @Override
  public void ends(List<Replacement> replacements, boolean applied) {
    swaps.ends(replacements, applied);
  }

  @Override
  public void gives(String organ) {
    services.gives(organ);
  }

  @Override
  public void resumes(String organ) {
    services.resumes(organ);
  }

  /** Takes the proxies back; organs have been stopped before. */
  @Deactivate
  public void close() {
    services.close();
  }
}
