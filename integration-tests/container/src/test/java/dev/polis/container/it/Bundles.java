package dev.polis.container.it;

import dev.polis.fixtures.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;

/** Finds and controls bundles and services from inside the framework. */
final class Bundles {

  /** The time limit of every wait, long enough for a busy machine. */
  static final Duration PATIENCE = Duration.ofSeconds(120);

  private Bundles() {}

  static BundleContext context() {
    return FrameworkUtil.getBundle(Bundles.class).getBundleContext();
  }

  static Bundle named(String symbolicName) {
    return Arrays.stream(context().getBundles())
        .filter(bundle -> symbolicName.equals(bundle.getSymbolicName()))
        .findFirst()
        .orElseThrow(() -> new AssertionError("the distribution has no bundle " + symbolicName));
  }

  /** Returns the distribution's bundles without the organs. */
  static List<Bundle> platform() throws IOException {
    Set<String> organs = organs();
    return Arrays.stream(context().getBundles())
        .filter(bundle -> bundle.getLocation().startsWith("reference:"))
        .filter(bundle -> !organs.contains(bundle.getSymbolicName()))
        .toList();
  }

  /** Returns the names of the replaceable bundles: those below bundles/. */
  private static Set<String> organs() throws IOException {
    Path folder = Path.of(System.getProperty("polis.repository"), "bundles");
    try (Stream<Path> organs = Files.list(folder)) {
      return organs
          .map(organ -> "dev.polis." + organ.getFileName())
          .collect(Collectors.toUnmodifiableSet());
    }
  }

  static void start(List<Bundle> bundles) throws BundleException {
    for (Bundle bundle : bundles) {
      bundle.start();
    }
  }

  static void configure(String pid, Map<String, Object> values) throws Exception {
    Dictionary<String, Object> dictionary = new Hashtable<>(values);
    ask(ConfigurationAdmin.class, admin -> update(admin, pid, dictionary));
  }

  private static Void update(
      ConfigurationAdmin admin, String pid, Dictionary<String, Object> values) {
    try {
      // Leaves the location unbound, since the caller is this bundle and not the component's.
      admin.getConfiguration(pid, null).update(values);
      return null;
    } catch (IOException e) {
      throw new AssertionError(pid + " cannot be configured", e);
    }
  }

  /** Waits for a service, calls it and releases it, since a held service cannot be collected. */
  static <S, T> T ask(Class<S> type, Function<S, T> question) throws Exception {
    Await.until(PATIENCE, "a service " + type.getName(), () -> reference(type) != null);
    ServiceReference<S> reference = reference(type);
    try {
      return question.apply(context().getService(reference));
    } finally {
      context().ungetService(reference);
    }
  }

  static boolean offered(Class<?> type) {
    return reference(type) != null;
  }

  /** Returns the name of the bundle that offers a service of a type. */
  static String provider(Class<?> type) throws Exception {
    Await.until(PATIENCE, "a service " + type.getName(), () -> reference(type) != null);
    return reference(type).getBundle().getSymbolicName();
  }

  private static <S> ServiceReference<S> reference(Class<S> type) {
    return context().getServiceReference(type);
  }

  /**
   * Returns the types of the services that a bundle offers now, sorted; without those that
   * Declarative Services register in its name to receive configurations.
   */
  static Set<String> services(Bundle bundle) {
    Set<String> types = new TreeSet<>();
    ServiceReference<?>[] offered = bundle.getRegisteredServices();
    if (offered != null) {
      for (ServiceReference<?> reference : offered) {
        types.addAll(List.of((String[]) reference.getProperty(Constants.OBJECTCLASS)));
      }
    }
    types.removeIf(type -> type.startsWith("org.osgi.service.cm."));
    return types;
  }

  /**
   * Returns the components of a bundle with their state, and a text for those that wait or have
   * failed.
   */
  static List<String> waiting() throws Exception {
    return ask(ServiceComponentRuntime.class, Bundles::waiting);
  }

  /** Returns whether a component of a bundle is active. */
  static boolean active(Bundle bundle) throws Exception {
    return ask(
        ServiceComponentRuntime.class,
        runtime ->
            runtime.getComponentDescriptionDTOs(bundle).stream()
                .flatMap(component -> runtime.getComponentConfigurationDTOs(component).stream())
                .anyMatch(instance -> instance.state == ComponentConfigurationDTO.ACTIVE));
  }

  private static List<String> waiting(ServiceComponentRuntime runtime) {
    List<String> waiting = new ArrayList<>();
    for (ComponentDescriptionDTO component : runtime.getComponentDescriptionDTOs()) {
      for (ComponentConfigurationDTO instance : runtime.getComponentConfigurationDTOs(component)) {
        if (instance.state != ComponentConfigurationDTO.ACTIVE
            && instance.state != ComponentConfigurationDTO.SATISFIED) {
          waiting.add(component.name + reason(component, instance));
        }
      }
    }
    return waiting;
  }

  private static String reason(
      ComponentDescriptionDTO component, ComponentConfigurationDTO instance) {
    return switch (instance.state) {
      case ComponentConfigurationDTO.FAILED_ACTIVATION -> " failed: " + instance.failure;
      case ComponentConfigurationDTO.UNSATISFIED_CONFIGURATION ->
          " waits for a configuration of " + List.of(component.configurationPid);
      default ->
          " waits for "
              + Arrays.stream(instance.unsatisfiedReferences).map(each -> each.name).toList();
    };
  }

  /** Returns the names of the bundles that have components. */
  static Set<String> withComponents() throws Exception {
    return ask(
        ServiceComponentRuntime.class,
        runtime ->
            runtime.getComponentDescriptionDTOs().stream()
                .map(component -> component.bundle.symbolicName)
                .collect(Collectors.toCollection(TreeSet::new)));
  }
}
