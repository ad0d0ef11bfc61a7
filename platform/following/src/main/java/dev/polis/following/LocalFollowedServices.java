package dev.polis.following;

import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.logtree.Log;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;

/**
 * Follows a list of contracts in one framework. Its creator closes it, which takes back all proxies
 * and shows the providers to everybody again.
 */
final class LocalFollowedServices implements FollowedServices, AutoCloseable {
  private final Log log;
  private final List<ServiceFollower> followers;
  private final ServiceRegistration<?> hooks;
  private final MutableValue<List<FollowedService>> all = new MutableValue<>();
  private final Map<Bundle, AnnouncedSwap> swaps = new ConcurrentHashMap<>();

  private LocalFollowedServices(
      BundleContext context,
      Collection<Class<?>> contracts,
      FollowingLimits limits,
      Log log,
      InstantSource clock) {
    this.log = log;
    this.followers =
        contracts.stream()
            .map(
                contract ->
                    new ServiceFollower(context, contract, limits, log, clock, this::publish))
            .toList();
    Set<String> names =
        contracts.stream().map(Class::getName).collect(Collectors.toUnmodifiableSet());
    // Before anything is followed: nobody may be bound to a provider meanwhile.
    this.hooks =
        context.registerService(
            new String[] {FindHook.class.getName(), EventListenerHook.class.getName()},
            new ProviderHooks(context.getBundle(), names),
            new Hashtable<>());
  }

  /**
   * Begins to follow.
   *
   * @param context of the bundle that registers the proxies; its classes include the contracts
   * @param contracts interfaces
   */
  static LocalFollowedServices open(
      BundleContext context,
      Collection<Class<?>> contracts,
      FollowingLimits limits,
      Log log,
      InstantSource clock) {
    LocalFollowedServices services =
        new LocalFollowedServices(context, contracts, limits, log, clock);
    services.publish();
    services.followers.forEach(ServiceFollower::open);
    return services;
  }

  private void publish() {
    all.update(before -> followers.stream().map(ServiceFollower::status).toList());
  }

  @Override
  public Value<List<FollowedService>> all() {
    return all;
  }

  @Override
  public ServiceSwap begin(Bundle predecessor) {
    return announce(predecessor, null);
  }

  @Override
  public ServiceSwap begin(Bundle predecessor, Bundle successor) {
    return announce(predecessor, Objects.requireNonNull(successor, "successor"));
  }

  /** Announces a swap; the successor is null if it is named later. */
  private AnnouncedSwap announce(Bundle predecessor, Bundle successor) {
    AnnouncedSwap swap = new AnnouncedSwap(predecessor);
    if (swaps.putIfAbsent(predecessor, swap) != null) {
      throw new IllegalStateException(
          ServiceProvider.of(predecessor)
              + " is being replaced already: wait for that swap, or cancel it");
    }
    try {
      for (ServiceFollower follower : followers) {
        follower.begin(predecessor, successor).ifPresent(swap.parts::add);
      }
      return swap;
    } catch (RuntimeException e) {
      swap.close();
      throw e;
    }
  }

  @Override
  public Optional<ServiceSwap> swapOf(Bundle predecessor) {
    return Optional.ofNullable(swaps.get(predecessor));
  }

  /** Makes calls wait whose provider gives its state to the one that is being activated. */
  void gives(String organ) {
    followers.forEach(follower -> follower.gives(organ));
  }

  /** Lets calls go to a provider that has its state back. */
  void resumes(String organ) {
    followers.forEach(follower -> follower.resumes(organ));
  }

  @Override
  public void close() {
    followers.reversed().forEach(ServiceFollower::close);
    hooks.unregister();
  }

  /** Takes the same step with each contract of the predecessor. */
  private final class AnnouncedSwap implements ServiceSwap {
    private final Bundle predecessor;
    private final List<ServiceFollower.Swap> parts = new ArrayList<>();

    AnnouncedSwap(Bundle predecessor) {
      this.predecessor = predecessor;
    }

    @Override
    public Set<String> contracts() {
      return parts.stream()
          .map(ServiceFollower.Swap::contract)
          .collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public boolean providedBy(Bundle bundle) {
      return parts.stream().allMatch(part -> part.providedBy(bundle));
    }

    @Override
    public boolean hold(Duration drain) {
      boolean ended = true;
      for (ServiceFollower.Swap part : parts) {
        ended &= part.hold(drain);
      }
      if (!ended) {
        log.warning(
            "calls of %s are under way after %d ms, and go on while it is replaced",
            ServiceProvider.of(predecessor), drain.toMillis());
      }
      return ended;
    }

    @Override
    public void switchTo(Bundle successor) {
      parts.forEach(part -> part.require(successor));
      parts.forEach(part -> part.switchTo(successor));
    }

    @Override
    public void revert() {
      parts.forEach(ServiceFollower.Swap::revert);
    }

    @Override
    public void close() {
      parts.forEach(ServiceFollower.Swap::close);
      swaps.remove(predecessor, this);
    }
  }
}
