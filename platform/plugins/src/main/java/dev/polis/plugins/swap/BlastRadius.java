package dev.polis.plugins.swap;

import dev.polis.plugins.swap.BlastLine.Effect;
import io.grpc.BindableService;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.SatisfiedReferenceDTO;

/** Determines the effects of a swap on the running node, without making the swap. */
final class BlastRadius {
  private static final String LISTENER = "polis.rpc.listener";
  private static final String STATIC = "static";

  private final List<BlastLine> lines = new ArrayList<>();
  private final List<ComponentConfigurationDTO> components;
  private final Set<Long> seen = new HashSet<>();

  private BlastRadius(List<ComponentConfigurationDTO> components) {
    this.components = components;
  }

  /**
   * Determines the effects on the node.
   *
   * @param change the changes of the swap
   * @param bundles the bundles of the framework
   * @param components all components of the node
   * @param children descriptions of the node's child processes
   */
  static List<BlastLine> of(
      SwapChange change,
      FrameworkBundles bundles,
      List<ComponentConfigurationDTO> components,
      List<String> children) {
    BlastRadius radius = new BlastRadius(components);
    radius.bundles(change, bundles);
    for (Bundle each : change.going()) {
      radius.services(each);
    }
    change
        .configured()
        .forEach(
            key ->
                radius.add(
                    Effect.CONFIGURES,
                    key.toString(),
                    "a second instance of the bundle that reads it begins with it, and takes the place of the first"));
    children.forEach(
        child ->
            radius.add(
                Effect.UNTOUCHED,
                child,
                "it is a process of its own, which the next instance adopts"));
    return radius.lines;
  }

  private void add(Effect effect, String subject, String reason) {
    BlastLine line = new BlastLine(effect, subject, reason);
    if (!lines.contains(line)) {
      lines.add(line);
    }
  }

  private void bundles(SwapChange change, FrameworkBundles bundles) {
    change
        .coming()
        .forEach(
            plugin ->
                add(
                    Effect.STARTS,
                    plugin.symbolicName() + " " + plugin.version(),
                    change.isReplaced(plugin.symbolicName())
                        ? "it takes the place of the version that runs"
                        : "the node does not have it yet"));
    for (Bundle each : change.going()) {
      add(
          Effect.STOPS,
          each.getSymbolicName() + " " + each.getVersion(),
          change.isReplaced(each.getSymbolicName())
              ? "its successor takes its place; it is uninstalled when the node was well with it"
              : "the new generation does not have it");
    }
    for (Bundle each : bundles.refreshedWith(change.going())) {
      add(Effect.REFRESHES, each.getSymbolicName(), "it uses packages of a removed bundle");
    }
  }

  private void services(Bundle bundle) {
    ServiceReference<?>[] references = bundle.getRegisteredServices();
    for (ServiceReference<?> each : references == null ? new ServiceReference<?>[0] : references) {
      List<String> types = List.of((String[]) each.getProperty(Constants.OBJECTCLASS));
      if (types.stream().allMatch(type -> type.startsWith("org.osgi.service."))) {
        continue;
      }
      Object listener = each.getProperty(LISTENER);
      if (listener != null) {
        add(
            Effect.HOLDS_CALLS,
            rpc(bundle, each),
            "new calls at the listener %s go to the successor, or wait for it; streams are ended to be resumed"
                .formatted(text(listener)));
        continue;
      }
      add(
          Effect.SERVICE_GOES,
          String.join(", ", types),
          bundle.getSymbolicName() + " provides it, and its successor provides another one");
      consumers((Long) each.getProperty(Constants.SERVICE_ID), types.getFirst());
      others(each, types.getFirst());
    }
  }

  private static String text(Object listener) {
    return listener instanceof String[] several ? String.join(", ", several) : listener.toString();
  }

  private static String rpc(Bundle bundle, ServiceReference<?> reference) {
    return service(bundle, reference)
        .map(found -> found.bindService().getServiceDescriptor().getName())
        .orElse(bundle.getSymbolicName());
  }

  private static Optional<BindableService> service(Bundle bundle, ServiceReference<?> reference) {
    Object found = bundle.getBundleContext().getService(reference);
    try {
      return found instanceof BindableService rpc ? Optional.of(rpc) : Optional.empty();
    } finally {
      bundle.getBundleContext().ungetService(reference);
    }
  }

  /** Follows static references: a deactivated component also removes its own services. */
  private void consumers(long service, String type) {
    record Gone(long id, String type) {}
    Deque<Gone> gone = new ArrayDeque<>(List.of(new Gone(service, type)));
    while (!gone.isEmpty()) {
      Gone each = gone.removeFirst();
      if (!seen.add(each.id())) {
        continue;
      }
      for (ComponentConfigurationDTO component : components) {
        Optional<ReferenceDTO> bound = bound(component, each.id());
        if (bound.isEmpty()) {
          continue;
        }
        String name = component.description.bundle.symbolicName;
        if (!bound.get().policy.equals(STATIC)) {
          add(Effect.REBINDS, name, "it uses " + each.type() + " and follows its provider");
          continue;
        }
        add(Effect.DEACTIVATES, name, "it is bound statically to " + each.type());
        if (component.service != null) {
          Object types = component.service.properties.get(Constants.OBJECTCLASS);
          gone.add(
              new Gone(
                  component.service.id,
                  types instanceof String[] several ? several[0] : String.valueOf(types)));
        }
      }
    }
  }

  private static Optional<ReferenceDTO> bound(ComponentConfigurationDTO component, long service) {
    for (SatisfiedReferenceDTO satisfied : component.satisfiedReferences) {
      if (Stream.of(satisfied.boundServices).anyMatch(each -> each.id == service)) {
        return Stream.of(component.description.references)
            .filter(each -> each.name.equals(satisfied.name))
            .findFirst();
      }
    }
    return Optional.empty();
  }

  /** Names bundles that use a service without a component. */
  private void others(ServiceReference<?> reference, String type) {
    Bundle[] using = reference.getUsingBundles();
    Set<String> composed =
        components.stream()
            .map(each -> each.description.bundle.symbolicName)
            .collect(Collectors.toSet());
    for (Bundle each : using == null ? new Bundle[0] : using) {
      if (!composed.contains(each.getSymbolicName()) && each.getBundleId() != 0) {
        add(Effect.REBINDS, each.getSymbolicName(), "it tracks " + type + " by itself");
      }
    }
  }
}
