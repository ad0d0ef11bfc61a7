package dev.polis.handover.following;

import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.plugins.plan.Offer;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.util.tracker.BundleTracker;
import org.osgi.util.tracker.BundleTrackerCustomizer;

/**
 * Follows the contracts that the bundles of one framework say are followed, each as long as its
 * bundle is resolved. Its creator closes it, which removes all proxies and shows the providers to
 * all bundles again.
 */
final class LocalFollowedServices
    implements FollowedServices, BundleTrackerCustomizer<List<ServiceFollower>>, AutoCloseable {
  private static final String OBJECT_CLASS = "objectClass";

  private final BundleContext context;
  private final FollowingLimits limits;
  private final Log log;
  private final InstantSource clock;

  /** In the order in which their contracts were found. */
  private final List<ServiceFollower> followers = new CopyOnWriteArrayList<>();

  private final BundleTracker<List<ServiceFollower>> exporters;
  private final ServiceRegistration<?> hooks;
  private final MutableValue<List<FollowedService>> all = new MutableValue<>();
  private final Map<Bundle, AnnouncedSwap> swaps = new ConcurrentHashMap<>();

  private LocalFollowedServices(
      BundleContext context, FollowingLimits limits, Log log, InstantSource clock) {
    this.context = context;
    this.limits = limits;
    this.log = log;
    this.clock = clock;
    this.exporters =
        new BundleTracker<>(
            context, Bundle.RESOLVED | Bundle.STARTING | Bundle.ACTIVE | Bundle.STOPPING, this);
    // Before anything is followed: no user may be bound to a provider meanwhile.
    this.hooks =
        context.registerService(
            new String[] {FindHook.class.getName(), EventListenerHook.class.getName()},
            new ProviderHooks(context.getBundle(), followers),
            new Hashtable<>());
  }

  /**
   * Begins to follow.
   *
   * @param context of the bundle that registers the proxies
   */
  static LocalFollowedServices open(
      BundleContext context, FollowingLimits limits, Log log, InstantSource clock) {
    LocalFollowedServices services = new LocalFollowedServices(context, limits, log, clock);
    services.publish();
    services.exporters.open();
    return services;
  }

  // ---- contracts come and go with their bundles

  @Override
  public List<ServiceFollower> addingBundle(Bundle exporter, BundleEvent event) {
    List<ServiceFollower> added =
        exporter.adapt(BundleRevision.class).getDeclaredCapabilities(Offer.FOLLOWED).stream()
            .flatMap(each -> names(each.getAttributes().get(OBJECT_CLASS)))
            .flatMap(name -> contract(exporter, name).stream())
            .map(
                type ->
                    new ServiceFollower(context, exporter, type, limits, log, clock, this::publish))
            .toList();
    if (added.isEmpty()) {
      return null; // the tracker's word for "not of interest"
    }
    followers.addAll(added);
    publish();
    added.forEach(ServiceFollower::open);
    return added;
  }

  private static Stream<String> names(Object attribute) {
    return (attribute instanceof Collection<?> several ? several.stream() : Stream.of(attribute))
        .map(String::valueOf);
  }

  /** Loads a contract; a bundle that cannot give what it declares is named, and costs no other. */
  private Optional<Class<?>> contract(Bundle exporter, String name) {
    String trouble;
    try {
      Class<?> type = exporter.loadClass(name);
      if (followers.stream().anyMatch(each -> each.follows(type))) {
        // A bundle may export what it gets from another one.
        return Optional.empty();
      }
      if (type.isInterface()) {
        return Optional.of(type);
      }
      trouble = "it is no interface";
    } catch (ClassNotFoundException | LinkageError e) {
      trouble = String.valueOf(e);
    }
    log.error(
        "the contract %s, which %s says is followed, is not: %s; correct its manifest",
        name, ServiceProvider.of(exporter), trouble);
    return Optional.empty();
  }

  @Override
  public void modifiedBundle(Bundle exporter, BundleEvent event, List<ServiceFollower> added) {
    // Its contracts are there as long as it is resolved.
  }

  @Override
  public void removedBundle(Bundle exporter, BundleEvent event, List<ServiceFollower> added) {
    added.reversed().forEach(ServiceFollower::close);
    followers.removeAll(added);
    publish();
  }

  private void publish() {
    all.update(before -> followers.stream().map(ServiceFollower::status).toList());
  }

  @Override
  public Value<List<FollowedService>> all() {
    return all;
  }

  @Override
  public ServiceSwap begin(Bundle predecessor, Bundle successor) {
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
    exporters.close();
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
    public void switchTo(Bundle next) {
      parts.forEach(part -> part.require(next));
      parts.forEach(part -> part.switchTo(next));
    }

    @Override
    public void close() {
      parts.forEach(ServiceFollower.Swap::close);
      swaps.remove(predecessor, this);
    }
  }
}
