package dev.polis.health.component;

import dev.polis.health.HealthCondition;
import dev.polis.health.OrganDirectory;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleListener;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceListener;

/** Finds the bundles that are organs, and those of them that are not there. */
final class OrganBundles implements OrganDirectory, AutoCloseable {
  static final String PREFIX = "dev.polis.";

  private final BundleContext context;
  private final OrganDiagnosis diagnosis;

  /** Ids of bundles that were seen running, to tell a stopped one from one that never started. */
  private final Set<Long> started = ConcurrentHashMap.newKeySet();

  /** Null until {@link #follow} and while nothing is followed. */
  private BundleListener bundles;

  /** Null until {@link #follow} and while nothing is followed. */
  private ServiceListener services;

  OrganBundles(BundleContext context, OrganDiagnosis diagnosis) {
    this.context = context;
    this.diagnosis = diagnosis;
  }

  /** Calls back whenever bundles or services change. */
  void follow(Runnable changed) {
    bundles =
        event -> {
          if (event.getType() == BundleEvent.STARTED) {
            started.add(event.getBundle().getBundleId());
          }
          changed.run();
        };
    services = event -> changed.run();
    context.addBundleListener(bundles);
    context.addServiceListener(services);
    Stream.of(context.getBundles())
        .filter(bundle -> bundle.getState() == Bundle.ACTIVE)
        .forEach(bundle -> started.add(bundle.getBundleId()));
  }

  @Override
  public List<Absent> absent(Set<String> present) {
    return Stream.of(context.getBundles())
        .filter(OrganBundles::isOrgan)
        .filter(bundle -> !present.contains(organ(bundle)))
        .map(bundle -> new Absent(organ(bundle), why(bundle)))
        .toList();
  }

  @Override
  public Set<String> needs(String organ) {
    return Stream.of(context.getBundles())
        .filter(bundle -> isOrgan(bundle) && organ(bundle).equals(organ))
        .flatMap(diagnosis::providers)
        .filter(bundle -> isOrgan(bundle) && !organ(bundle).equals(organ))
        .map(OrganBundles::organ)
        .collect(Collectors.toUnmodifiableSet());
  }

  private HealthCondition why(Bundle bundle) {
    if (OrganDiagnosis.runs(bundle) || started.contains(bundle.getBundleId())) {
      return diagnosis.why(bundle);
    }
    return HealthCondition.waiting(
        "not-started", "bundle %s has not been started yet".formatted(bundle.getSymbolicName()));
  }

  /** An organ of ours exports nothing; whatever exports packages carries others. */
  private static boolean isOrgan(Bundle bundle) {
    String name = bundle.getSymbolicName();
    return name != null
        && name.startsWith(PREFIX)
        && bundle.getHeaders("").get(Constants.EXPORT_PACKAGE) == null;
  }

  /** Returns the name of an organ: that of its bundle without the part that all of them share. */
  static String organ(Bundle bundle) {
    return bundle.getSymbolicName().substring(PREFIX.length());
  }

  @Override
  public void close() {
    context.removeBundleListener(bundles);
    context.removeServiceListener(services);
  }
}
