package dev.polis.plugins.swap;

import dev.polis.base.boot.FailureText;
import dev.polis.plugins.store.ConfigurationSet;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.UnsatisfiedReferenceDTO;

/** Reads the states of components from Declarative Services. */
final class Components {

  /**
   * Describes a component that is not active.
   *
   * @param name the name of the component, which both versions of a bundle share
   * @param reason a text for people
   * @param failed true if its activation threw an exception, so that a wait does not help
   */
  record Idle(String name, String reason, boolean failed) {}

  private final ServiceComponentRuntime runtime;

  Components(ServiceComponentRuntime runtime) {
    this.runtime = runtime;
  }

  /** Returns the inactive components of some bundles. */
  List<Idle> idle(Collection<Bundle> bundles) {
    return bundles.stream()
        .flatMap(
            bundle ->
                runtime.getComponentDescriptionDTOs(bundle).stream()
                    .flatMap(component -> idle(bundle, component)))
        .toList();
  }

  /** Returns all components of the node whose activation threw an exception. */
  List<Idle> failed() {
    return runtime.getComponentDescriptionDTOs().stream()
        .flatMap(this::idle)
        .filter(Idle::failed)
        .toList();
  }

  /** Returns the configurations of all components, active or not. */
  List<ComponentConfigurationDTO> configurations() {
    return runtime.getComponentDescriptionDTOs().stream()
        .flatMap(each -> runtime.getComponentConfigurationDTOs(each).stream())
        .toList();
  }

  /** Returns the names of the running bundles that read at least one of some configurations. */
  Set<String> readers(Set<String> pids) {
    return runtime.getComponentDescriptionDTOs().stream()
        .filter(each -> Stream.of(each.configurationPid).anyMatch(pids::contains))
        .map(each -> each.bundle.symbolicName)
        .collect(Collectors.toSet());
  }

  /**
   * Returns a line for each component that has not read a new value yet.
   *
   * @param but bundles with values of their own
   */
  Stream<String> unread(Map<ConfigurationSet.Key, Object> values, Collection<Bundle> but) {
    Set<Long> others = but.stream().map(Bundle::getBundleId).collect(Collectors.toSet());
    return values.entrySet().stream()
        .flatMap(
            value ->
                configurations().stream()
                    .filter(each -> !others.contains(each.description.bundle.id))
                    .filter(
                        each ->
                            List.of(each.description.configurationPid)
                                .contains(value.getKey().pid()))
                    .filter(
                        each ->
                            !Objects.deepEquals(
                                each.properties.get(value.getKey().key()), value.getValue()))
                    .map(
                        each ->
                            each.description.name + " has not read " + value.getKey() + " yet"));
  }

  private Stream<Idle> idle(Bundle bundle, ComponentDescriptionDTO component) {
    Optional<String> missing = missingClass(bundle, component);
    return missing.isPresent()
        ? Stream.of(new Idle(component.name, missing.get(), true))
        : idle(component);
  }

  /**
   * Returns the reason why the class of a component cannot be loaded; empty if it can. Declarative
   * Services only log it, and report the component as satisfied.
   */
  private static Optional<String> missingClass(Bundle bundle, ComponentDescriptionDTO component) {
    try {
      bundle.loadClass(component.implementationClass);
      return Optional.empty();
    } catch (ClassNotFoundException | LinkageError e) {
      return Optional.of(
          "%s could not be activated: its class cannot be loaded: %s"
              .formatted(component.name, RootCauses.of(e)));
    } catch (IllegalStateException uninstalled) {
      return Optional.empty();
    }
  }

  private Stream<Idle> idle(ComponentDescriptionDTO component) {
    if (!runtime.isComponentEnabled(component)) {
      return Stream.empty();
    }
    List<Idle> idle = new ArrayList<>();
    for (ComponentConfigurationDTO each : runtime.getComponentConfigurationDTOs(component)) {
      switch (each.state) {
        case ComponentConfigurationDTO.FAILED_ACTIVATION ->
            idle.add(
                new Idle(
                    component.name,
                    component.name
                        + " could not be activated: "
                        + FailureText.rootCause(each.failure),
                    true));
        case ComponentConfigurationDTO.UNSATISFIED_CONFIGURATION ->
            idle.add(
                new Idle(
                    component.name,
                    component.name
                        + " waits for a configuration of "
                        + String.join(" or ", component.configurationPid),
                    false));
        case ComponentConfigurationDTO.UNSATISFIED_REFERENCE ->
            idle.add(
                new Idle(
                    component.name,
                    component.name + " waits for " + missing(component, each),
                    false));
        default -> {
          // Active, or activated at the first request for its service.
        }
      }
    }
    return idle.stream();
  }

  private static String missing(
      ComponentDescriptionDTO component, ComponentConfigurationDTO instance) {
    return Stream.of(instance.unsatisfiedReferences)
        .map((UnsatisfiedReferenceDTO each) -> type(component, each.name))
        .collect(Collectors.joining(" and "));
  }

  private static String type(ComponentDescriptionDTO component, String reference) {
    return Stream.of(component.references)
        .filter(each -> each.name.equals(reference))
        .map((ReferenceDTO each) -> each.interfaceName)
        .findFirst()
        .orElse(reference);
  }
}
