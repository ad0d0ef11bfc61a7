package dev.polis.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.UnsatisfiedReferenceDTO;

/** Finds out from Declarative Services why components are not active. */
final class ComponentDiagnosis {

  private ComponentDiagnosis() {}

  /** Returns a line for each component that waits, with the services it waits for. */
  static List<String> waiting(BundleContext context) {
    List<String> lines = new ArrayList<>();
    runtime(context)
        .forEach(
            runtime ->
                components(runtime)
                    .forEach(component -> describe(runtime, component).ifPresent(lines::add)));
    return lines;
  }

  /**
   * Returns a component whose activation threw an exception. One that failed because it needs
   * another that failed is a consequence; it is returned only if there is no other.
   */
  static Optional<ComponentFailure> failed(BundleContext context) {
    List<ComponentConfigurationDTO> failed =
        runtime(context).flatMap(ComponentDiagnosis::failures).toList();
    return failed.stream()
        .filter(each -> failed.stream().noneMatch(other -> needs(each, other)))
        .findFirst()
        .or(() -> failed.stream().findFirst())
        .map(ComponentDiagnosis::failure);
  }

  private static Stream<ComponentConfigurationDTO> failures(ServiceComponentRuntime runtime) {
    return components(runtime)
        .flatMap(component -> runtime.getComponentConfigurationDTOs(component).stream())
        .filter(each -> each.state == ComponentConfigurationDTO.FAILED_ACTIVATION);
  }

  private static boolean needs(ComponentConfigurationDTO one, ComponentConfigurationDTO other) {
    List<String> provided = List.of(other.description.serviceInterfaces);
    return Stream.of(one.description.references)
        .anyMatch(reference -> provided.contains(reference.interfaceName));
  }

  private static ComponentFailure failure(ComponentConfigurationDTO configuration) {
    return new ComponentFailure(
        organ(configuration.description), configuration.description.name, configuration.failure);
  }

  private static Optional<String> describe(
      ServiceComponentRuntime runtime, ComponentDescriptionDTO component) {
    List<String> missing = new ArrayList<>();
    for (ComponentConfigurationDTO configuration :
        runtime.getComponentConfigurationDTOs(component)) {
      if (configuration.state == ComponentConfigurationDTO.UNSATISFIED_CONFIGURATION) {
        missing.add("a configuration of " + String.join(" or ", component.configurationPid));
      }
      for (UnsatisfiedReferenceDTO reference : configuration.unsatisfiedReferences) {
        missing.add(type(component, reference));
      }
    }
    return missing.isEmpty()
        ? Optional.empty()
        : Optional.of(component.bundle.symbolicName + " waits for " + String.join(", ", missing));
  }

  private static String type(
      ComponentDescriptionDTO component, UnsatisfiedReferenceDTO unsatisfied) {
    return Stream.of(component.references)
        .filter(reference -> reference.name.equals(unsatisfied.name))
        .map((ReferenceDTO reference) -> reference.interfaceName)
        .findFirst()
        .orElse(unsatisfied.name);
  }

  private static String organ(ComponentDescriptionDTO component) {
    return component.bundle.symbolicName.replaceFirst("^dev\\.polis\\.", "");
  }

  private static Stream<ComponentDescriptionDTO> components(ServiceComponentRuntime runtime) {
    return runtime.getComponentDescriptionDTOs().stream();
  }

  private static Stream<ServiceComponentRuntime> runtime(BundleContext context) {
    ServiceReference<ServiceComponentRuntime> reference =
        context.getServiceReference(ServiceComponentRuntime.class);
    return reference == null ? Stream.empty() : Stream.ofNullable(context.getService(reference));
  }
}
