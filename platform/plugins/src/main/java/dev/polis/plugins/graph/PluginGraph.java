package dev.polis.plugins.graph;

import dev.polis.plugins.manifest.BundlePlugin;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import dev.polis.wire.plugins.GraphBundle;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.PackageWire;
import dev.polis.wire.plugins.ServiceUse;
import dev.polis.wire.plugins.ServiceUse.WhenReplaced;
import io.grpc.BindableService;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.dto.ServiceReferenceDTO;
import org.osgi.framework.namespace.PackageNamespace;
import org.osgi.framework.wiring.BundleWire;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.SatisfiedReferenceDTO;
import org.osgi.service.component.runtime.dto.UnsatisfiedReferenceDTO;

/** Reads the uses between the bundles of a node at one moment. */
public final class PluginGraph {
  private static final String LISTENER = "polis.rpc.listener";
  private static final String DYNAMIC = "dynamic";
  private static final String MANDATORY = "1";

  /** The services that Declarative Services and the framework keep for themselves. */
  private static final Predicate<String> FRAMEWORK = type -> type.startsWith("org.osgi.");

  private final BundleContext context;
  private final ServiceComponentRuntime runtime;
  private final Map<String, FollowedContract> followed;
  private final Map<Long, BundlePlugin> plugins = new HashMap<>();
  private final List<ServiceUse> uses = new ArrayList<>();

  private PluginGraph(
      BundleContext context, ServiceComponentRuntime runtime, List<FollowedContract> contracts) {
    this.context = context;
    this.runtime = runtime;
    this.followed =
        contracts.stream().collect(Collectors.toMap(FollowedContract::contract, each -> each));
    for (Bundle bundle : context.getBundles()) {
      plugins.put(bundle.getBundleId(), BundlePlugin.of(bundle));
    }
  }

  /**
   * Reads the graph.
   *
   * @param context the context of any bundle
   * @param runtime knows the components
   * @param contracts the contracts whose users have a proxy
   * @param platform true to include services of the platform
   * @return bundles, services and packages in reading order
   */
  public static GraphResponse read(
      BundleContext context,
      ServiceComponentRuntime runtime,
      List<FollowedContract> contracts,
      boolean platform) {
    return new PluginGraph(context, runtime, contracts).graph(platform);
  }

  private GraphResponse graph(boolean platform) {
    components();
    for (Bundle bundle : context.getBundles()) {
      services(bundle);
    }
    List<ServiceUse> shown =
        uses.stream()
            .filter(use -> platform || isReplaceable(use))
            .distinct()
            .sorted(
                Comparator.comparing((ServiceUse use) -> name(use.hasProvider(), use.getProvider()))
                    .thenComparing(ServiceUse::getService)
                    .thenComparing(ServiceUse::getDetail)
                    .thenComparing(use -> name(use.hasUser(), use.getUser())))
            .toList();
    List<PackageWire> wires =
        Stream.of(context.getBundles())
            .filter(bundle -> platform || isPlugin(bundle.getBundleId()))
            .flatMap(PluginGraph::wires)
            .toList();
    return GraphResponse.newBuilder()
        .addAllBundles(bundles(shown, wires))
        .addAllServices(shown)
        .addAllWires(wires)
        .build();
  }

  /**
   * Returns whether a use matters for the replacement of plugins: the platform's services never
   * change.
   */
  private boolean isReplaceable(ServiceUse use) {
    return use.hasProvider()
        ? !isPlatform(use.getProvider())
        : use.hasUser() && !isPlatform(use.getUser());
  }

  private boolean isPlatform(long bundle) {
    return plugins.get(bundle) instanceof BundlePlugin.Library;
  }

  private boolean isPlugin(long bundle) {
    return plugins.get(bundle) instanceof BundlePlugin.Organ;
  }

  private String name(boolean known, long bundle) {
    Bundle found = known ? context.getBundle(bundle) : null;
    return found == null ? "" : found.getSymbolicName() + " " + found.getVersion();
  }

  private List<GraphBundle> bundles(List<ServiceUse> uses, List<PackageWire> wires) {
    Set<Long> named = new HashSet<>();
    uses.stream().filter(ServiceUse::hasProvider).forEach(use -> named.add(use.getProvider()));
    uses.stream().filter(ServiceUse::hasUser).forEach(use -> named.add(use.getUser()));
    wires.forEach(wire -> named.addAll(List.of(wire.getUser(), wire.getProvider())));
    return Stream.of(context.getBundles())
        .filter(bundle -> named.contains(bundle.getBundleId()) || isPlugin(bundle.getBundleId()))
        .map(this::bundle)
        .toList();
  }

  private GraphBundle bundle(Bundle bundle) {
    GraphBundle.Builder found =
        GraphBundle.newBuilder()
            .setBundleId(bundle.getBundleId())
            .setSymbolicName(bundle.getSymbolicName())
            .setVersion(bundle.getVersion().toString())
            .setState(BundleStates.wire(bundle.getState()));
    if (plugins.get(bundle.getBundleId()) instanceof BundlePlugin.Organ(PluginManifest manifest)) {
      manifest.provides().stream().map(Provided::toString).forEach(found::addProvides);
    }
    return found.build();
  }

  // ---- services, as components use them

  private void components() {
    for (ComponentDescriptionDTO component : runtime.getComponentDescriptionDTOs()) {
      for (ComponentConfigurationDTO instance : runtime.getComponentConfigurationDTOs(component)) {
        for (SatisfiedReferenceDTO satisfied : instance.satisfiedReferences) {
          for (ServiceReferenceDTO bound : satisfied.boundServices) {
            reference(component, satisfied.name)
                .filter(reference -> !FRAMEWORK.test(reference.interfaceName))
                .ifPresent(reference -> uses.add(bound(component, reference, bound)));
          }
        }
        for (UnsatisfiedReferenceDTO missing : instance.unsatisfiedReferences) {
          reference(component, missing.name)
              .ifPresent(reference -> uses.add(missing(component, reference)));
        }
      }
    }
  }

  private static Optional<ReferenceDTO> reference(ComponentDescriptionDTO component, String name) {
    return Stream.of(component.references).filter(each -> each.name.equals(name)).findFirst();
  }

  private ServiceUse bound(
      ComponentDescriptionDTO component, ReferenceDTO reference, ServiceReferenceDTO bound) {
    ServiceUse.Builder use = use(component, reference);
    FollowedContract contract = followed.get(reference.interfaceName);
    if (bound.properties.containsKey(FollowedContractSource.PROXY) && contract != null) {
      contract.provider().ifPresent(use::setProvider);
      return use.setWhenReplaced(WhenReplaced.WHEN_REPLACED_FOLLOWS)
          .setWaitingCalls(contract.waitingCalls())
          .setStanding(contract.held() || contract.waitingCalls() > 0 ? contract.standing() : "")
          .build();
    }
    return use.setProvider(bound.bundle)
        .setDetail(detail(bound.bundle, bound.id))
        .setWhenReplaced(whenReplaced(reference, bound.bundle))
        .build();
  }

  private WhenReplaced whenReplaced(ReferenceDTO reference, long provider) {
    if (isPlatform(provider)) {
      return WhenReplaced.WHEN_REPLACED_NEVER;
    }
    return reference.policy.equals(DYNAMIC)
        ? WhenReplaced.WHEN_REPLACED_REBINDS
        : WhenReplaced.WHEN_REPLACED_STOPS;
  }

  private static ServiceUse missing(ComponentDescriptionDTO component, ReferenceDTO reference) {
    boolean mandatory = reference.cardinality.startsWith(MANDATORY);
    return use(component, reference)
        .setWhenReplaced(WhenReplaced.WHEN_REPLACED_UNKNOWN)
        .setStanding(
            mandatory
                ? "it has no provider: %s waits for it".formatted(component.name)
                : "it has no provider, and is optional")
        .build();
  }

  private static ServiceUse.Builder use(ComponentDescriptionDTO component, ReferenceDTO reference) {
    return ServiceUse.newBuilder()
        .setService(reference.interfaceName)
        .setUser(component.bundle.id)
        .setComponent(component.name)
        .setMandatory(reference.cardinality.startsWith(MANDATORY));
  }

  // ---- services that no component uses

  private void services(Bundle bundle) {
    ServiceReference<?>[] registered = bundle.getRegisteredServices();
    for (ServiceReference<?> each : registered == null ? new ServiceReference<?>[0] : registered) {
      String type = ((String[]) each.getProperty(Constants.OBJECTCLASS))[0];
      if (!FRAMEWORK.test(type) && each.getProperty(FollowedContractSource.PROXY) == null) {
        service(bundle, each, type);
      }
    }
  }

  private void service(Bundle provider, ServiceReference<?> reference, String type) {
    ServiceUse.Builder found =
        ServiceUse.newBuilder()
            .setService(type)
            .setDetail(
                detail(provider.getBundleId(), (Long) reference.getProperty(Constants.SERVICE_ID)))
            .setProvider(provider.getBundleId());
    if (uses.stream().anyMatch(use -> same(use, found))) {
      return;
    }
    Bundle[] users = reference.getUsingBundles();
    List<Bundle> tracking =
        Stream.of(users == null ? new Bundle[0] : users)
            // The follower of a contract uses its provider on behalf of the proxy's users.
            .filter(user -> user != provider && !followed.containsKey(type))
            .toList();
    if (tracking.isEmpty()) {
      uses.add(found.setWhenReplaced(WhenReplaced.WHEN_REPLACED_NOBODY).build());
    }
    for (Bundle user : tracking) {
      uses.add(
          found
              .clone()
              .setUser(user.getBundleId())
              .setWhenReplaced(
                  isPlatform(provider.getBundleId())
                      ? WhenReplaced.WHEN_REPLACED_NEVER
                      : found.getDetail().isEmpty()
                          ? WhenReplaced.WHEN_REPLACED_TRACKS
                          : WhenReplaced.WHEN_REPLACED_HOLDS)
              .build());
    }
  }

  private static boolean same(ServiceUse use, ServiceUse.Builder service) {
    return use.hasProvider()
        && use.getProvider() == service.getProvider()
        && use.getService().equals(service.getService())
        && use.getDetail().equals(service.getDetail());
  }

  /** Adds the listener to the name of an RPC service; the type of other services is enough. */
  private String detail(long bundle, long service) {
    Bundle provider = context.getBundle(bundle);
    ServiceReference<?>[] registered = provider == null ? null : provider.getRegisteredServices();
    return Stream.of(registered == null ? new ServiceReference<?>[0] : registered)
        .filter(each -> each.getProperty(Constants.SERVICE_ID).equals(service))
        .filter(each -> each.getProperty(LISTENER) != null)
        .map(each -> rpc(provider, each) + " at " + text(each.getProperty(LISTENER)))
        .findFirst()
        .orElse("");
  }

  private static String text(Object listener) {
    return listener instanceof String[] several ? String.join(", ", several) : listener.toString();
  }

  private static String rpc(Bundle provider, ServiceReference<?> reference) {
    BundleContext own = provider.getBundleContext();
    if (own == null) {
      return provider.getSymbolicName();
    }
    Object found = own.getService(reference);
    try {
      return found instanceof BindableService service
          ? service.bindService().getServiceDescriptor().getName()
          : provider.getSymbolicName();
    } finally {
      own.ungetService(reference);
    }
  }

  // ---- packages

  private static Stream<PackageWire> wires(Bundle bundle) {
    BundleWiring wiring = bundle.adapt(BundleWiring.class);
    List<BundleWire> required =
        wiring == null ? null : wiring.getRequiredWires(PackageNamespace.PACKAGE_NAMESPACE);
    return Stream.ofNullable(required)
        .flatMap(List::stream)
        .map(wire -> wire(bundle, wire))
        .sorted(Comparator.comparing(PackageWire::getName));
  }

  private static PackageWire wire(Bundle user, BundleWire wire) {
    Map<String, Object> exported = wire.getCapability().getAttributes();
    return PackageWire.newBuilder()
        .setUser(user.getBundleId())
        .setProvider(wire.getProvider().getBundle().getBundleId())
        .setName(String.valueOf(exported.get(PackageNamespace.PACKAGE_NAMESPACE)))
        .setVersion(String.valueOf(exported.get(PackageNamespace.CAPABILITY_VERSION_ATTRIBUTE)))
        .build();
  }
}
