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

/** Asks Declarative Services why components are not there. */
final class ComponentDiagnosis {

  /**
   * A component whose own code failed.
   *
   * @param organ the bundle's name without what all bundles share
   * @param failure the stack trace, as text
   */
  record Failed(String organ, String component, String failure) {}

  private ComponentDiagnosis() {}

  /** Components that wait, each with what for. */
  static List<String> waiting(BundleContext context) {
    List<String> lines = new ArrayList<>();
    runtime(context)
        .forEach(
            runtime ->
                components(runtime)
                    .forEach(component -> describe(runtime, component).ifPresent(lines::add)));
    return lines;
  }

  /** The first component whose activation threw something. */
  static Optional<Failed> failed(BundleContext context) {
    return runtime(context)
        .flatMap(
            runtime ->
                components(runtime)
                    .flatMap(component -> runtime.getComponentConfigurationDTOs(component).stream())
                    .filter(
                        configuration ->
                            configuration.state == ComponentConfigurationDTO.FAILED_ACTIVATION)
                    .map(
                        configuration ->
                            new Failed(
                                organ(configuration.description),
                                configuration.description.name,
                                configuration.failure)))
        .findFirst();
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
