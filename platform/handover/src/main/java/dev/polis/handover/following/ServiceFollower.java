package dev.polis.handover.following;

import dev.polis.logtree.Log;
import dev.polis.plugins.graph.FollowedContractSource;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Dictionary;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.Filter;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;

/**
 * Follows the providers of one contract, and registers its proxy while there is one.
 *
 * <p>Its lock orders what happens to the contract. It is held while the proxy is registered or
 * taken back, which activates or deactivates its users; those take locks of contracts further up
 * only, since organs do not need each other in a circle. Calls never take it.
 */
final class ServiceFollower implements ServiceTrackerCustomizer<Object, ServiceReference<Object>> {
  /** Property of the proxy's registration that tells it from its provider's. */
  static final String PROXY = FollowedContractSource.PROXY;

  private final BundleContext context;
  private final Bundle exporter;
  private final Class<?> contract;
  private final FollowingLimits limits;
  private final Log log;
  private final InstantSource clock;
  private final Runnable changed;
  private final CallGate gate;
  private final Object proxy;
  private final ServiceTracker<Object, ServiceReference<Object>> tracker;
  private final ReentrantLock lock = new ReentrantLock();

  /** The follower whose next provider this thread activates; holds nothing otherwise. */
  private static final ThreadLocal<ServiceFollower> ACTIVATING = new ThreadLocal<>();

  // Guarded by lock.
  private final List<ServiceReference<Object>> providers = new ArrayList<>();

  /**
   * Those that a thread activates without the lock. Another one that holds the lock must not ask
   * for their objects: it would wait for that thread, which may need the lock.
   */
  private final Set<ServiceReference<Object>> activating = new HashSet<>();

  private ServiceRegistration<?> registration; // null while the proxy is not registered
  private Swap swap; // null while none is announced
  private HandOver handOver; // null while no provider has given its state away

  /** What hand-overs of the providers are called, once one was seen; written under the lock. */
  private volatile String organ = "";

  private volatile ServiceReference<Object> present; // null while no bundle provides
  private volatile FollowedService.Provision provision = new FollowedService.Absent();
  private volatile Instant since;

  /**
   * @param context of the bundle that registers the proxy
   * @param exporter the bundle that has the contract
   * @param contract an interface
   * @param changed called when {@link #status} has changed
   */
  ServiceFollower(
      BundleContext context,
      Bundle exporter,
      Class<?> contract,
      FollowingLimits limits,
      Log log,
      InstantSource clock,
      Runnable changed) {
    this.context = context;
    this.exporter = exporter;
    this.contract = contract;
    this.limits = limits;
    this.log = log;
    this.clock = clock;
    this.changed = changed;
    this.since = clock.instant();
    this.gate = new CallGate(contract.getSimpleName(), limits.hold(), changed);
    this.proxy = ServiceProxy.of(contract, gate);
    this.tracker = new ServiceTracker<>(context, providersOnly(), this);
  }

  private Filter providersOnly() {
    String filter =
        "(&(%s=%s)(!(%s=*)))".formatted(Constants.OBJECTCLASS, contract.getName(), PROXY);
    try {
      return FrameworkUtil.createFilter(filter);
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException("the filter is written here and is wrong: " + filter, e);
    }
  }

  /** Says that a provider gives its state away and decides nothing until it has it back. */
  private record HandOver(ServiceReference<Object> giver) {}

  /** Begins to follow. */
  void open() {
    tracker.open();
  }

  /** Takes the proxy back and stops following. */
  void close() {
    lock.lock();
    try {
      swap = null;
      providers.clear();
      tracker.close();
    } finally {
      lock.unlock();
    }
  }

  String contract() {
    return contract.getName();
  }

  /** Returns whether a type is the contract. */
  boolean follows(Class<?> type) {
    return contract.equals(type);
  }

  /** Returns whether a service of this name is one of the contract, and not of its namesake. */
  boolean follows(String name, ServiceReference<?> service) {
    return contract.getName().equals(name) && service.isAssignableTo(exporter, name);
  }

  /** Returns the provider of the contract. */
  FollowedService status() {
    return new FollowedService(contract.getName(), provision, since, gate.waiting());
  }

  // ---- providers come and go

  @Override
  public ServiceReference<Object> addingService(ServiceReference<Object> provider) {
    if (!follows(contract.getName(), provider)) {
      return null; // the tracker's word for "not of interest"
    }
    boolean wanted;
    lock.lock();
    try {
      providers.add(provider);
      if (present == null && registration == null) {
        offer(provider);
      }
      wanted = wanted(provider);
      if (wanted) {
        activating.add(provider);
      }
    } finally {
      lock.unlock();
    }
    if (wanted) {
      adopt(provider);
    }
    return provider;
  }

  /**
   * Returns whether calls should go to a provider as soon as it is active. The caller has the lock.
   */
  private boolean wanted(ServiceReference<Object> provider) {
    return registration != null
        && !provider.equals(present)
        && providers.contains(provider)
        && (present == null || swap != null && swap.successor.equals(provider.getBundle()));
  }

  /** Activates a provider, without the lock since that may take long, and sends calls to it. */
  private void adopt(ServiceReference<Object> provider) {
    Object service = activated(provider);
    if (service == null) {
      refuse(provider);
      return;
    }
    ProviderCalls before;
    lock.lock();
    try {
      if (!wanted(provider)) {
        context.ungetService(provider);
        if (present == null && registration == null && providers.contains(provider)) {
          // Its swap has ended meanwhile, without a provider.
          offer(provider);
        }
        return;
      }
      before = gate.latest();
      use(provider, service);
    } finally {
      lock.unlock();
    }
    retire(before);
  }

  /** Returns a provider's object; while its component is activated, this thread is known. */
  private Object activated(ServiceReference<Object> provider) {
    ServiceFollower outer = ACTIVATING.get();
    ACTIVATING.set(this);
    try {
      return context.getService(provider);
    } finally {
      if (outer == null) {
        ACTIVATING.remove();
      } else {
        ACTIVATING.set(outer);
      }
      lock.lock();
      try {
        activating.remove(provider);
      } finally {
        lock.unlock();
      }
    }
  }

  @Override
  public void modifiedService(ServiceReference<Object> provider, ServiceReference<Object> tracked) {
    // Which properties a provider has makes no difference.
  }

  @Override
  public void removedService(ServiceReference<Object> provider, ServiceReference<Object> tracked) {
    lock.lock();
    try {
      providers.remove(provider);
      if (handOver != null && provider.equals(handOver.giver())) {
        handOver = null;
      }
      if (provider.equals(present)) {
        replace(provider);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Registers the proxy. Its provider is asked for its object by the first user only. */
  private void offer(ServiceReference<Object> provider) {
    present = provider;
    gate.offer();
    publish(new FollowedService.Provided(ServiceProvider.of(provider.getBundle())));
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(PROXY, true);
    properties.put(
        Constants.SERVICE_DESCRIPTION, "follows the present provider of " + contract.getName());
    registration = context.registerService(contract.getName(), factory(), properties);
    if (present == null && swap == null) {
      // It went while its users were activated.
      withdraw();
    }
  }

  /** Finds a successor for a provider that is going, or takes the proxy back. */
  private void replace(ServiceReference<Object> going) {
    ProviderCalls before = gate.latest();
    present = null;
    List<ServiceReference<Object>> heirs = heirs();
    // It gets its state back when the one that goes is deactivated, which is next.
    boolean waits = !heirs.isEmpty() && hasGiven(heirs.getFirst());
    if (!waits && heirs.stream().anyMatch(this::takeOver)) {
      retire(before);
    } else if (swap != null) {
      gate.holdWithout(ServiceProvider.of(going.getBundle()) + " is gone, and is being replaced");
      publish(new FollowedService.Held(ServiceProvider.of(going.getBundle())));
      retire(before);
    } else {
      withdraw();
      release(before);
    }
  }

  /** Returns the providers that may get the calls, the predecessor of a swap first. */
  private List<ServiceReference<Object>> heirs() {
    Comparator<ServiceReference<Object>> order =
        Comparator.comparing(each -> swap != null && swap.predecessor.equals(each.getBundle()));
    return providers.stream()
        .filter(each -> !activating.contains(each))
        .sorted(order.thenComparing(Comparator.naturalOrder()).reversed())
        .toList();
  }

  /** Returns whether a provider has given its state away. The caller has the lock. */
  private boolean hasGiven(ServiceReference<Object> provider) {
    return handOver != null && provider.equals(handOver.giver());
  }

  /** Sends calls to a provider; returns false if its component cannot be activated. */
  private boolean takeOver(ServiceReference<Object> next) {
    Object service = context.getService(next);
    if (service == null) {
      refuse(next);
      return false;
    }
    use(next, service);
    return true;
  }

  private void use(ServiceReference<Object> next, Object service) {
    ServiceProvider name = ServiceProvider.of(next.getBundle());
    present = next;
    gate.open(new ProviderCalls(next, service));
    publish(new FollowedService.Provided(name));
    log.info("%s is now provided by %s", contract.getSimpleName(), name);
  }

  private void refuse(ServiceReference<Object> provider) {
    Bundle bundle = provider.getBundle(); // null if the service has gone meanwhile
    if (bundle != null) {
      log.error(
          "%s of %s is not used: its component could not be activated; see that component's log",
          contract.getSimpleName(), ServiceProvider.of(bundle));
    }
  }

  /** Takes the proxy back: its users are deactivated, and may call the provider until then. */
  private void withdraw() {
    if (registration != null) {
      ServiceRegistration<?> former = registration;
      registration = null;
      former.unregister();
    }
    gate.close("no bundle provides it any more");
    publish(new FollowedService.Absent());
  }

  /** Waits for the calls of a provider that gets no more, then lets go of it. */
  private void retire(ProviderCalls before) {
    if (before != null && !gate.drain(before, limits.drain())) {
      log.warning(
          "%s of %s is retired with %d calls under way, after %d s",
          contract.getSimpleName(),
          before.provider(),
          before.underWay(),
          limits.drain().toSeconds());
    }
    release(before);
  }

  private void release(ProviderCalls before) {
    if (before != null) {
      context.ungetService(before.reference());
    }
  }

  private void publish(FollowedService.Provision next) {
    provision = next;
    since = clock.instant();
    changed.run();
  }

  /** Returns a factory whose class loader finds the contract, as the framework demands. */
  private ServiceFactory<?> factory() {
    Factory factory = new Factory();
    return (ServiceFactory<?>)
        Proxy.newProxyInstance(
            new FactoryLoader(contract),
            new Class<?>[] {ServiceFactory.class},
            (own, method, arguments) ->
                (Object) MethodCalls.code(method).invokeExact((Object) factory, arguments));
  }

  /**
   * Finds the contract, and the framework's types. The framework shows a service to the users of a
   * contract if the class loader of its factory finds the same contract; ours does not know those
   * of other bundles.
   *
   * <p>The framework loads the contract in each lookup of a service and in each event. The lock
   * that a class loader takes by default is not fair: callers that look services up without a pause
   * kept it from the thread that stopped the provider for a quarter of an hour.
   */
  static final class FactoryLoader extends ClassLoader {
    private final Class<?> contract;

    FactoryLoader(Class<?> contract) {
      super(contract.getClassLoader());
      this.contract = contract;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.equals(contract.getName())) {
        return contract;
      }
      ClassLoader knowing =
          name.startsWith("org.osgi.framework.")
              ? ServiceFactory.class.getClassLoader()
              : getParent();
      return knowing.loadClass(name);
    }
  }

  /** Gives out the proxy, once its provider could be activated. */
  private final class Factory implements ServiceFactory<Object> {
    @Override
    public Object getService(Bundle user, ServiceRegistration<Object> own) {
      return acquire() ? proxy : null; // null is the framework's word for "not available"
    }

    @Override
    public void ungetService(Bundle user, ServiceRegistration<Object> own, Object service) {
      // The provider is let go when it goes.
    }
  }

  /**
   * Activates the present provider for its first user. Takes no lock: its activation may be long.
   */
  private boolean acquire() {
    ServiceReference<Object> provider = present;
    if (provider == null || gate.latest() != null) {
      return true;
    }
    Object service = context.getService(provider);
    if (service == null) {
      return false;
    }
    if (!gate.openFirst(new ProviderCalls(provider, service))) {
      context.ungetService(provider);
    }
    return true;
  }

  // ---- hand-overs

  /**
   * Makes calls wait if the present provider stops deciding: until another one is in use, or the
   * present one {@link #resumes}. Calls under way end where they began, and values are read on.
   *
   * @param name what the hand-over is called
   */
  void gives(String name) {
    if (ACTIVATING.get() != this && !organ.equals(name)) {
      return;
    }
    lock.lock();
    try {
      if (ACTIVATING.get() == this) {
        organ = name;
      }
      if (!organ.equals(name) || swap == null || present == null || gate.latest() == null) {
        return;
      }
      handOver = new HandOver(present);
      ServiceProvider giver = ServiceProvider.of(present.getBundle());
      gate.giveAway(giver + " gives its state to its successor");
      publish(new FollowedService.Held(giver));
    } finally {
      lock.unlock();
    }
  }

  /**
   * Notes that the provider that gave its state away has it back.
   *
   * @param name what the hand-over is called
   */
  void resumes(String name) {
    if (!organ.equals(name)) {
      return;
    }
    lock.lock();
    try {
      if (handOver == null || !organ.equals(name)) {
        return;
      }
      ServiceReference<Object> giver = handOver.giver();
      handOver = null;
      if (present == null && providers.contains(giver)) {
        takeOver(giver);
      } else if (giver.equals(present)) {
        reopen();
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- swaps

  /**
   * Announces a swap if a bundle provides the contract now.
   *
   * @param successor gets the calls as soon as it is active
   */
  Optional<Swap> begin(Bundle predecessor, Bundle successor) {
    if (!provides(predecessor)) {
      // Without the lock: another organ's may be held as long as its users are activated.
      return Optional.empty();
    }
    lockInterruptibly(predecessor);
    try {
      if (!provides(predecessor)) {
        return Optional.empty();
      }
      if (swap != null) {
        throw new IllegalStateException(
            "%s of %s is being replaced already: wait for that swap, or cancel it"
                .formatted(contract.getSimpleName(), ServiceProvider.of(predecessor)));
      }
      swap = new Swap(predecessor, successor);
      return Optional.of(swap);
    } finally {
      lock.unlock();
    }
  }

  /** Takes the lock for an announcement, which has a limit of time, unlike what else takes it. */
  private void lockInterruptibly(Bundle predecessor) {
    try {
      lock.lockInterruptibly();
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(
          "%s of %s is busy: a component that uses it does not end its activation or deactivation"
              .formatted(contract.getSimpleName(), ServiceProvider.of(predecessor)));
    }
  }

  private boolean provides(Bundle bundle) {
    ServiceReference<Object> provider = present;
    return provider != null && bundle.equals(provider.getBundle());
  }

  /** Replaces the provider of this contract. */
  final class Swap {
    private final Bundle predecessor;
    private final Bundle successor;

    private Swap(Bundle predecessor, Bundle successor) {
      this.predecessor = predecessor;
      this.successor = successor;
    }

    String contract() {
      return contract.getName();
    }

    /** Checks that a bundle can take over, and activates its component. */
    void require(Bundle successor) {
      ServiceReference<Object> next = of(successor);
      if (context.getService(next) == null) {
        throw new IllegalStateException(
            "%s cannot take over: its component that provides %s could not be activated"
                .formatted(ServiceProvider.of(successor), contract.getName()));
      }
      context.ungetService(next);
    }

    /** Sends calls to a bundle, which was checked. */
    void switchTo(Bundle next) {
      ProviderCalls former = null;
      lock.lock();
      try {
        requireAnnounced();
        ServiceReference<Object> provider = of(next);
        ProviderCalls before = gate.latest();
        // A provider that has given its state away gets the calls together with the state.
        if (!provider.equals(present) && !hasGiven(provider)) {
          former = takeOver(provider) ? before : null;
        }
      } finally {
        lock.unlock();
      }
      retire(former);
    }

    void close() {
      lock.lock();
      try {
        if (swap == this) {
          swap = null;
          settle();
        }
      } finally {
        lock.unlock();
      }
    }

    boolean providedBy(Bundle bundle) {
      return find(bundle).isPresent();
    }

    private ServiceReference<Object> of(Bundle bundle) {
      return find(bundle)
          .orElseThrow(
              () ->
                  new IllegalStateException(
                      "%s does not provide %s at present"
                          .formatted(ServiceProvider.of(bundle), contract.getName())));
    }

    private Optional<ServiceReference<Object>> find(Bundle bundle) {
      lock.lock();
      try {
        return providers.stream().filter(each -> bundle.equals(each.getBundle())).findFirst();
      } finally {
        lock.unlock();
      }
    }

    private void requireAnnounced() {
      if (swap != this) {
        throw new IllegalStateException(
            "the swap of %s has ended".formatted(ServiceProvider.of(predecessor)));
      }
    }
  }

  /** Cleans up after a swap: calls go to a provider, or the proxy goes if there is none. */
  private void settle() {
    boolean waiting = present != null && hasGiven(present);
    handOver = null;
    if (present != null) {
      if (waiting) {
        reopen();
      }
    } else if (heirs().stream().noneMatch(this::takeOver)) {
      withdraw();
    }
  }

  /** Sends calls to the present provider again. */
  private void reopen() {
    ProviderCalls before = gate.latest();
    if (before == null) {
      takeOver(present);
    } else {
      gate.open(before.anew());
      publish(new FollowedService.Provided(before.provider()));
    }
  }
}
