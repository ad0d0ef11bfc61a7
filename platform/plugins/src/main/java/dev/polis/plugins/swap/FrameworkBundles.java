package dev.polis.plugins.swap;

import dev.polis.plugins.manifest.BundleCapabilities;
import dev.polis.plugins.manifest.PlatformVersion;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.namespace.PackageNamespace;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;

/** Installs, wires, starts, stops and uninstalls bundles, each within a time limit. */
final class FrameworkBundles {
  private static final String COMPONENT = "component.name";

  /**
   * The remedy for missing packages of the platform, which does not change while the process lives.
   */
  private static final String OTHER_PLATFORM =
      "it was built for another platform: build it again with this one, or install the distribution that it was built for, then \"polisctl node restart --runtime\"";

  /** The framework's form of a lower limit of versions in a filter. */
  private static final Pattern LEAST = Pattern.compile("\\((?:bundle-)?version>=([^)]*)\\)");

  private static final Pattern BELOW = Pattern.compile("\\(!\\((?:bundle-)?version>=([^)]*)\\)\\)");

  /** The time for the wiring of packages, which takes milliseconds, on a busy machine. */
  private static final Duration REFRESH = Duration.ofSeconds(30);

  private final BundleContext context;
  private final FrameworkWiring wiring;

  FrameworkBundles(BundleContext context) {
    this.context = context;
    this.wiring = context.getBundle(Constants.SYSTEM_BUNDLE_LOCATION).adapt(FrameworkWiring.class);
  }

  List<Bundle> named(String symbolicName) {
    return Stream.of(context.getBundles())
        .filter(bundle -> symbolicName.equals(bundle.getSymbolicName()))
        .toList();
  }

  /**
   * Installs a bundle at its present path, without loading a class. It installs an installed file
   * once more, since a bundle may replace itself.
   */
  Bundle install(Path file) throws BundleException {
    String location = "reference:" + file.toUri();
    while (context.getBundle(location) != null) {
      // A location names one bundle, so the same file needs another path.
      location = location.replaceFirst("/([^/]*)$", "/./$1");
    }
    return context.installBundle(location);
  }

  /** Wires installed bundles; returns a text for each missing requirement. */
  List<String> resolve(Collection<Bundle> bundles) {
    if (wiring.resolveBundles(bundles)) {
      return List.of();
    }
    List<String> missing = new ArrayList<>();
    for (Bundle bundle : bundles) {
      if (bundle.getState() == Bundle.INSTALLED) {
        missing.addAll(missing(bundle));
      }
    }
    return missing.isEmpty()
        ? List.of("the framework cannot wire it, and does not say why")
        : missing;
  }

  private List<String> missing(Bundle bundle) {
    BundleRevision revision = bundle.adapt(BundleRevision.class);
    List<BundleRequirement> unmet =
        revision.getDeclaredRequirements(null).stream()
            .filter(
                each ->
                    !Constants.RESOLUTION_OPTIONAL.equals(each.getDirectives().get("resolution")))
            .filter(
                each -> !"active".equals(each.getDirectives().get(Constants.EFFECTIVE_DIRECTIVE)))
            .filter(each -> wiring.findProviders(each).isEmpty())
            .toList();
    List<String> missing = new ArrayList<>();
    unmet.forEach(each -> missing.add(missing(bundle, each)));
    // One remedy for all packages.
    if (unmet.stream()
        .anyMatch(each -> each.getNamespace().equals(PackageNamespace.PACKAGE_NAMESPACE))) {
      missing.add(OTHER_PLATFORM);
    }
    return missing;
  }

  private String missing(Bundle bundle, BundleRequirement requirement) {
    String filter = requirement.getDirectives().getOrDefault("filter", "");
    return switch (requirement.getNamespace()) {
      case PackageNamespace.PACKAGE_NAMESPACE -> missingPackage(bundle, filter);
      case BundleCapabilities.PLATFORM ->
          PlatformVersion.tooOld(
              bundle.getSymbolicName() + ":" + bundle.getVersion(),
              range(filter).strip(),
              offered(BundleCapabilities.PLATFORM, Constants.VERSION_ATTRIBUTE));
      case BundleCapabilities.ORGAN ->
          missingPlugin(bundle, "organ", BundleCapabilities.ORGAN, filter);
      case BundleCapabilities.ROLE ->
          missingPlugin(bundle, "role", BundleCapabilities.ROLE, filter);
      default ->
          "%s requires %s %s, which no bundle provides"
              .formatted(bundle.getSymbolicName(), requirement.getNamespace(), filter);
    };
  }

  private String missingPlugin(Bundle bundle, String what, String namespace, String filter) {
    return "%s needs the %s %s, which no bundle of this node provides (they provide %s); push a plugin that provides it first, or leave the requirement out"
        .formatted(
            bundle.getSymbolicName(),
            what,
            filter.replaceFirst("(?s).*\\(" + Pattern.quote(namespace) + "=([^)]*)\\).*", "$1"),
            offered(namespace, namespace));
  }

  private String missingPackage(Bundle bundle, String filter) {
    String name = filter.replaceFirst("(?s).*osgi\\.wiring\\.package=([^)]*)\\).*", "$1");
    String exported = exported(name);
    return "%s imports the package %s%s, %s"
        .formatted(
            bundle.getSymbolicName(),
            name,
            range(filter),
            exported.isEmpty()
                ? "which no bundle exports"
                : "which the platform exports in version " + exported);
  }

  /** Writes the versions that a filter accepts as a range, such as {@code [1.2.0,2.0.0)}. */
  private static String range(String filter) {
    Matcher least = LEAST.matcher(filter);
    Matcher below = BELOW.matcher(filter);
    if (!least.find()) {
      return "";
    }
    return below.find()
        ? " in a version of [%s,%s)".formatted(least.group(1), below.group(1))
        : " in version %s or newer".formatted(least.group(1));
  }

  private String exported(String name) {
    return declared(PackageNamespace.PACKAGE_NAMESPACE)
        .filter(each -> name.equals(each.get(PackageNamespace.PACKAGE_NAMESPACE)))
        .map(each -> String.valueOf(each.get(Constants.VERSION_ATTRIBUTE)))
        .distinct()
        .collect(Collectors.joining(", "));
  }

  /** Lists the offers in a namespace for people. */
  private String offered(String namespace, String attribute) {
    String there =
        declared(namespace)
            .map(each -> String.valueOf(each.get(attribute)))
            .distinct()
            .sorted()
            .collect(Collectors.joining(", "));
    return there.isEmpty() ? "none" : there;
  }

  private Stream<Map<String, Object>> declared(String namespace) {
    return Stream.of(context.getBundles())
        .map(bundle -> bundle.adapt(BundleRevision.class))
        .filter(revision -> revision != null)
        .flatMap(revision -> revision.getDeclaredCapabilities(namespace).stream())
        .map(BundleCapability::getAttributes);
  }

  /** Returns the bundles that have to be wired again when these are removed, without these. */
  List<Bundle> refreshedWith(Collection<Bundle> bundles) {
    return wiring.getDependencyClosure(bundles).stream()
        .filter(each -> !bundles.contains(each))
        .toList();
  }

  /**
   * Starts a bundle and activates its components, also lazy ones.
   *
   * @param excess describes an excessive use of the process
   * @throws SwapFailedException if it throws, takes too long or uses too much
   */
  Bundle start(Bundle bundle, Duration limit, Supplier<Optional<String>> excess)
      throws SwapFailedException, InterruptedException {
    try {
      return LimitedCall.call(
          "start-" + bundle.getSymbolicName(),
          limit,
          excess,
          () -> {
            bundle.start();
            touch(bundle);
            return bundle;
          });
    } catch (LimitedCall.FailedException | LimitedCall.OverdueException e) {
      throw SwapFailedException.notWell(
          "%s did not start: %s".formatted(bundle.getSymbolicName(), e.getMessage()), e);
    }
  }

  private void touch(Bundle bundle) {
    ServiceReference<?>[] references = bundle.getRegisteredServices();
    for (ServiceReference<?> each : references == null ? new ServiceReference<?>[0] : references) {
      if (each.getProperty(COMPONENT) != null) {
        context.getService(each);
        context.ungetService(each);
      }
    }
  }

  /** Stops a bundle; returns the reason if that fails. */
  Optional<String> stop(Bundle bundle, Duration limit) throws InterruptedException {
    return attempt("stop", bundle, limit, Bundle::stop);
  }

  /** Uninstalls a bundle; returns the reason if that fails. */
  Optional<String> uninstall(Bundle bundle, Duration limit) throws InterruptedException {
    return attempt("leave the framework", bundle, limit, Bundle::uninstall);
  }

  private interface Move {
    void make(Bundle bundle) throws BundleException;
  }

  private static Optional<String> attempt(String verb, Bundle bundle, Duration limit, Move move)
      throws InterruptedException {
    if (bundle.getState() == Bundle.UNINSTALLED) {
      return Optional.empty();
    }
    try {
      LimitedCall.call("stop-" + bundle.getSymbolicName(), limit, () -> move.make(bundle));
      return Optional.empty();
    } catch (LimitedCall.FailedException | LimitedCall.OverdueException e) {
      return Optional.of(
          "%s did not %s: %s".formatted(bundle.getSymbolicName(), verb, e.getMessage()));
    }
  }

  /**
   * Wires the users of uninstalled bundles again, and waits for the end.
   *
   * @return the number of uninstalled bundles
   */
  int refresh(Collection<Bundle> bundles) throws InterruptedException {
    List<Bundle> uninstalled =
        bundles.stream().filter(each -> each.getState() == Bundle.UNINSTALLED).toList();
    if (uninstalled.isEmpty()) {
      return 0;
    }
    CountDownLatch refreshed = new CountDownLatch(1);
    wiring.refreshBundles(uninstalled, event -> refreshed.countDown());
    refreshed.await(REFRESH.toMillis(), TimeUnit.MILLISECONDS);
    return uninstalled.size();
  }
}
