package dev.polis.following;

import dev.polis.event.Value;
import dev.polis.logtree.LogTree;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.bundle.Capability;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Follows the contracts of the node's organs. */
@Component(service = FollowedServices.class, immediate = true)
@Capability(
    namespace = FollowedContracts.CAPABILITY,
    attribute = FollowedContracts.DECLARED,
    effective = "active")
public final class FollowingComponent implements FollowedServices {
  private final LocalFollowedServices services;

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
            context,
            FollowedContracts.ALL,
            FollowingLimits.DEFAULT,
            logs.log("following"),
            InstantSource.system());
  }

  @Override
  public Value<List<FollowedService>> all() {
    return services.all();
  }

  @Override
  public ServiceSwap begin(Bundle predecessor) {
    return services.begin(predecessor);
  }

  @Override
  public Optional<ServiceSwap> swapOf(Bundle predecessor) {
    return services.swapOf(predecessor);
  }

  /** Takes the proxies back; organs have been stopped before. */
  @Deactivate
  public void close() {
    services.close();
  }
}
