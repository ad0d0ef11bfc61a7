package dev.polis.health.component;

import dev.polis.health.HealthCondition;
import dev.polis.health.OrganDirectory;
import dev.polis.health.PluginDirectory;
import dev.polis.health.PluginReports;
import dev.polis.health.PluginStatus;
import dev.polis.health.PluginStatus.Provided;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleListener;
import org.osgi.framework.ServiceListener;
import org.osgi.framework.ServiceReference;

/**
 * Finds the bundles that provide organs, and the absent organs. The plugin manifests name the
 * organs; a bundle's name does not.
 */
final class OrganBundles implements OrganDirectory, AutoCloseable {
  private final BundleContext context;
  private final OrganDiagnosis diagnosis;

  /**
   * The ids of bundles that have run, which distinguish a stopped bundle from one that never
   * started.
   */
  private final Set<Long> started = ConcurrentHashMap.newKeySet();

  /** The listener of bundles; null before {@link #follow} and after the close. */
  private BundleListener bundles;

  /** The listener of services; null before {@link #follow} and after the close. */
  private ServiceListener services;

  OrganBundles(BundleContext context, OrganDiagnosis diagnosis) {
    this.context = context;
    this.diagnosis = diagnosis;
  }

  /** Calls back after each change of bundles or services. */
  void follow(Runnable changed) {
    bundles =
        event -> {
          note(event);
          changed.run();
        };
    services = event -> changed.run();
    context.addBundleListener(bundles);
    context.addServiceListener(services);
    Stream.of(context.getBundles())
        .filter(bundle -> bundle.getState() == Bundle.ACTIVE)
        .forEach(bundle -> started.add(bundle.getBundleId()));
  }

  private void note(BundleEvent event) {
    long bundle = event.getBundle().getBundleId();
    if (event.getType() == BundleEvent.STARTED) {
      started.add(bundle);
    } else if (event.getType() == BundleEvent.UNINSTALLED) {
      // The framework never uses its number again, and each swap uninstalls a bundle.
      started.remove(bundle);
    }
  }

  @Override
  public List<Absent> absent(Set<String> present) {
    Map<String, Absent> absent = new TreeMap<>();
    for (Map.Entry<Bundle, Provided> plugin : provided().entrySet()) {
      for (String organ : plugin.getValue().organs()) {
        // If two versions are installed, the older one stands for both.
        if (!present.contains(organ)) {
          absent.computeIfAbsent(organ, name -> new Absent(name, why(plugin.getKey())));
        }
      }
    }
    return List.copyOf(absent.values());
  }

  @Override
  public Set<String> needs(String name) {
    Map<Bundle, Provided> all = provided();
    return all.entrySet().stream()
        .filter(
            plugin ->
                plugin.getValue().organs().contains(name)
                    || plugin.getValue().roles().contains(name))
        // An organ of the same plugin runs the role.
        .flatMap(
            plugin ->
                Stream.concat(Stream.of(plugin.getKey()), diagnosis.providers(plugin.getKey())))
        .flatMap(bundle -> all.getOrDefault(bundle, Provided.NOTHING).organs().stream())
        .filter(needed -> !needed.equals(name))
        .collect(Collectors.toUnmodifiableSet());
  }

  @Override
  public List<PluginStatus> plugins() {
    return ask(PluginReports.class, PluginReports::plugins).orElseGet(this::unreported).stream()
        .map(this::diagnosed)
        .toList();
  }

  /** Reports only that each plugin is installed, while {@link PluginReports} is missing. */
  private List<PluginStatus> unreported() {
    return provided().entrySet().stream()
        .map(
            plugin ->
                new PluginStatus(
                    plugin.getKey().getSymbolicName(),
                    OptionalLong.of(plugin.getKey().getBundleId()),
                    plugin.getValue(),
                    "version %s is installed; nothing more is known, because dev.polis.plugins does not run"
                        .formatted(plugin.getKey().getVersion()),
                    List.of(),
                    Instant.ofEpochMilli(plugin.getKey().getLastModified())))
        .toList();
  }

  private PluginStatus diagnosed(PluginStatus plugin) {
    Optional<HealthCondition> trouble =
        plugin.bundle().stream()
            .mapToObj(context::getBundle)
            .filter(bundle -> bundle != null)
            .findFirst()
            .flatMap(diagnosis::trouble);
    return trouble.map(plugin::with).orElse(plugin);
  }

  /** Returns the installed plugins in the order of their installation. */
  private Map<Bundle, Provided> provided() {
    Map<Long, Provided> byNumber =
        ask(PluginDirectory.class, PluginDirectory::provided).orElse(Map.of());
    Map<Bundle, Provided> plugins = new LinkedHashMap<>();
    for (Bundle bundle : context.getBundles()) {
      Provided provided = byNumber.get(bundle.getBundleId());
      if (provided != null) {
        plugins.put(bundle, provided);
      }
    }
    return plugins;
  }

  /**
   * Calls a service of the platform and releases it, since its provider needs the health table
   * itself.
   */
  private <S, T> Optional<T> ask(Class<S> type, Function<S, T> question) {
    ServiceReference<S> reference = context.getServiceReference(type);
    if (reference == null) {
      return Optional.empty();
    }
    S service = context.getService(reference);
    if (service == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(question.apply(service));
    } finally {
      context.ungetService(reference);
    }
  }

  private HealthCondition why(Bundle bundle) {
    if (OrganDiagnosis.runs(bundle) || started.contains(bundle.getBundleId())) {
      return diagnosis.why(bundle);
    }
    return HealthCondition.waiting(
        "not-started", "bundle %s has not been started yet".formatted(bundle.getSymbolicName()));
  }

  @Override
  public void close() {
    context.removeBundleListener(bundles);
    context.removeServiceListener(services);
  }
}
