package dev.polis.health.component;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.FailureText;
import dev.polis.base.boot.StopReason;
import dev.polis.health.HealthCondition;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.UnsatisfiedReferenceDTO;

/** Finds the reason why an organ is absent, down to the root cause. */
final class OrganDiagnosis {
  static final String STOPPED = "stopped";
  static final String UNRESOLVED = "unresolved";
  static final String FAILED = "activation-failed";
  static final String UNCONFIGURED = "configuration-missing";
  static final String WAITS = "service-missing";
  static final String PENDING = "not-activated";

  private static final String SERVICE_NAMESPACE = "osgi.service";

  /**
   * The first character in the cardinality of a mandatory reference: {@code 1..1}, {@code 1..n}.
   */
  private static final String MANDATORY = "1";

  private final BundleContext context;
  private final ServiceComponentRuntime runtime;

  OrganDiagnosis(BundleContext context, ServiceComponentRuntime runtime) {
    this.context = context;
    this.runtime = runtime;
  }

  /** Returns whether a bundle runs or is starting. */
  static boolean runs(Bundle bundle) {
    return bundle.getState() == Bundle.ACTIVE || bundle.getState() == Bundle.STARTING;
  }

  /** Describes the obstacle of a bundle; empty if it runs with all of its components. */
  Optional<HealthCondition> trouble(Bundle bundle) {
    boolean works =
        runs(bundle)
            && configurations(bundle)
                .allMatch(
                    each ->
                        each.state == ComponentConfigurationDTO.ACTIVE
                            || each.state == ComponentConfigurationDTO.SATISFIED);
    return works ? Optional.empty() : Optional.of(why(bundle));
  }

  /** Describes why the organ of a bundle that was started once is absent. */
  HealthCondition why(Bundle bundle) {
    String name = bundle.getSymbolicName();
    if (bundle.getState() == Bundle.INSTALLED) {
      return HealthCondition.down(
          UNRESOLVED,
          "the framework cannot wire bundle %s to all packages that it imports".formatted(name),
          "swap in a version that fits this platform: polisctl plugin inspect FILE shows what one imports");
    }
    if (!runs(bundle)) {
      if (nodeEnds()) {
        return HealthCondition.waiting(
            STOPPED, "bundle %s has stopped with its node, which ends or restarts".formatted(name));
      }
      return HealthCondition.down(
          STOPPED,
          "bundle %s was stopped by hand".formatted(name),
          "start it with: polisctl bundle start " + name);
    }
    Search search = new Search();
    Set<String> services = search.missing(bundle);
    if (!services.isEmpty()) {
      return HealthCondition.waiting(
          WAITS, name + " waits for " + search.describe(bundle, services));
    }
    Optional<ComponentConfigurationDTO> failed =
        configurations(bundle)
            .filter(each -> each.state == ComponentConfigurationDTO.FAILED_ACTIVATION)
            .findFirst();
    if (failed.isPresent()) {
      return HealthCondition.down(
          FAILED,
          "%s could not be activated: %s"
              .formatted(name, FailureText.rootCause(failed.get().failure)),
          "repair the cause, then: polisctl bundle stop %s; polisctl bundle start %s"
              .formatted(name, name));
    }
    if (configurations(bundle)
        .anyMatch(each -> each.state == ComponentConfigurationDTO.UNSATISFIED_CONFIGURATION)) {
      return HealthCondition.down(
          UNCONFIGURED,
          "%s has no configuration".formatted(name),
          "start the node with --set %s.KEY=VALUE; polis plan --keys lists the keys"
              .formatted(name));
    }
    return HealthCondition.waiting(PENDING, name + " is about to be activated");
  }

  private boolean nodeEnds() {
    return Optional.ofNullable(context.getServiceReference(BootReport.class))
        .map(context::getService)
        .filter(boot -> boot.stopReason() != StopReason.CODE_REPLACED)
        .isPresent();
  }

  private String provided(String type) {
    String names =
        providers(type).stream().map(Bundle::getSymbolicName).collect(Collectors.joining(" or "));
    return names.isEmpty()
        ? type + ", which no plugin provides"
        : "%s, which %s provides".formatted(type, names);
  }

  /** Finds the bundles that declare the services which the components of a bundle need. */
  Stream<Bundle> providers(Bundle bundle) {
    return runtime.getComponentDescriptionDTOs(bundle).stream()
        .flatMap(OrganDiagnosis::needs)
        .flatMap(type -> providers(type).stream());
  }

  /** Returns the types of the services that a component needs for its activation. */
  private static Stream<String> needs(ComponentDescriptionDTO component) {
    return Stream.of(component.references)
        .filter(reference -> reference.cardinality.startsWith(MANDATORY))
        .map(reference -> reference.interfaceName);
  }

  private List<Bundle> providers(String type) {
    return Arrays.stream(context.getBundles()).filter(bundle -> provides(bundle, type)).toList();
  }

  private static boolean provides(Bundle bundle, String type) {
    BundleRevision revision = bundle.adapt(BundleRevision.class);
    return revision != null
        && revision.getDeclaredCapabilities(SERVICE_NAMESPACE).stream()
            .anyMatch(capability -> names(capability).contains(type));
  }

  private static Collection<?> names(BundleCapability capability) {
    Object names = capability.getAttributes().get(Constants.OBJECTCLASS);
    return names instanceof Collection<?> several ? several : List.of(String.valueOf(names));
  }

  private static String type(
      ComponentDescriptionDTO component, UnsatisfiedReferenceDTO unsatisfied) {
    return Stream.of(component.references)
        .filter(reference -> reference.name.equals(unsatisfied.name))
        .map((ReferenceDTO reference) -> reference.interfaceName)
        .findFirst()
        .orElse(unsatisfied.name);
  }

  private Stream<ComponentConfigurationDTO> configurations(Bundle bundle) {
    return runtime.getComponentDescriptionDTOs(bundle).stream()
        .flatMap(component -> runtime.getComponentConfigurationDTOs(component).stream());
  }

  /**
   * Finds the services for which bundles wait, at one moment. It examines each bundle once, and
   * breaks a circle of waiting bundles at the first one.
   */
  private final class Search {
    private final Map<Bundle, Set<String>> known = new HashMap<>();

    /** Returns the types of the services that the components of a bundle wait for. */
    Set<String> missing(Bundle bundle) {
      Set<String> before = known.putIfAbsent(bundle, Set.of());
      if (before != null) {
        return before;
      }
      Set<String> missing =
          configurations(bundle)
              .flatMap(this::missing)
              .collect(Collectors.toCollection(LinkedHashSet::new));
      known.put(bundle, missing);
      return missing;
    }

    private Stream<String> missing(ComponentConfigurationDTO configuration) {
      Stream<String> absent =
          Stream.of(configuration.unsatisfiedReferences)
              .map(reference -> type(configuration.description, reference));
      if (configuration.state == ComponentConfigurationDTO.ACTIVE) {
        return absent;
      }
      // Declarative Services keep the service of a failed component registered. So a user of it
      // counts as satisfied, and then fails itself because it gets no object.
      return Stream.concat(absent, needs(configuration.description).filter(type -> !served(type)))
          .distinct();
    }

    /** Returns the own fault of a bundle; empty if it waits for others, or is well. */
    private Optional<String> broken(Bundle bundle) {
      if (!runs(bundle)) {
        return Optional.of(bundle.getSymbolicName() + " is stopped");
      }
      if (!missing(bundle).isEmpty()) {
        return Optional.empty();
      }
      return configurations(bundle)
          .filter(each -> each.state == ComponentConfigurationDTO.FAILED_ACTIVATION)
          .map(each -> FailureText.rootCause(each.failure))
          .map(reason -> bundle.getSymbolicName() + " could not be activated: " + reason)
          .findFirst();
    }

    private boolean served(String type) {
      List<Bundle> providers = providers(type);
      // A service that no bundle declares, such as the launcher's, was found, so it is there.
      return providers.isEmpty() || providers.stream().anyMatch(this::serves);
    }

    private boolean serves(Bundle provider) {
      return broken(provider).isEmpty() && missing(provider).isEmpty();
    }

    /** Describes the missing services with their providers, then the root causes. */
    String describe(Bundle bundle, Set<String> services) {
      Set<String> roots = new LinkedHashSet<>();
      roots(bundle, roots, new HashSet<>());
      return services.stream()
              .map(OrganDiagnosis.this::provided)
              .collect(Collectors.joining(" and "))
          + ": "
          + String.join("; ", roots);
    }

    /** Collects the causes from the bundles that wait for no other bundle. */
    private void roots(Bundle bundle, Set<String> roots, Set<Bundle> seen) {
      if (!seen.add(bundle)) {
        return;
      }
      for (String type : missing(bundle)) {
        List<Bundle> providers = providers(type);
        if (providers.isEmpty()) {
          roots.add("no installed bundle provides " + type);
        }
        for (Bundle provider : providers) {
          Optional<String> own = broken(provider);
          own.ifPresent(roots::add);
          if (own.isEmpty() && !missing(provider).isEmpty()) {
            roots(provider, roots, seen);
          } else if (own.isEmpty()) {
            roots.add("%s has not registered it yet".formatted(provider.getSymbolicName()));
          }
        }
      }
    }
  }
}
