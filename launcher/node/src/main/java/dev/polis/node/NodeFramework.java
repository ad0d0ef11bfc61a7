package dev.polis.node;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.Wait;
import dev.polis.node.exit.RootCause;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.plan.BootPlan;
import dev.polis.plugins.plan.BundleManifest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Dictionary;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.felix.framework.Felix;
import org.apache.felix.framework.Logger;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.wiring.FrameworkWiring;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;

/**
 * Starts, configures and stops the OSGi framework with its bundles. Its methods are called one
 * after the other.
 */
final class NodeFramework {
  /** Begins the name of the wait for the stop of a bundle, which follows. */
  static final String STOP_OF = "stop of ";

  private final Felix framework;

  /** The bundles that are to be started; none once they are, since each may be replaced then. */
  private final Map<String, Bundle> bundles = new LinkedHashMap<>();

  private NodeFramework(Felix framework) {
    this.framework = framework;
  }

  /**
   * Creates the framework and starts it, still without bundles.
   *
   * @param cache where it may write
   * @param systemPackages what the bundles get from the class path
   * @param configuration where the configurations of organs are kept, empty
   * @param report registered as the service organs report to
   * @param complaints receives the framework's log lines at WARNING or worse
   * @return the framework
   * @throws BundleException if it does not start
   */
  static NodeFramework start(
      Path cache,
      SystemPackages systemPackages,
      Path configuration,
      BootReport report,
      Consumer<String> complaints)
      throws BundleException {
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, cache.toString());
    settings.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
    settings.put(
        Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, String.join(",", systemPackages.packages()));
    settings.put(
        Constants.FRAMEWORK_SYSTEMCAPABILITIES_EXTRA,
        String.join(",", systemPackages.capabilities()));
    // Two builds of one organ live side by side while one takes over from the other.
    settings.put(Constants.FRAMEWORK_BSNVERSION, Constants.FRAMEWORK_BSNVERSION_MULTIPLE);
    // The cache is ours alone, the state directory is locked.
    settings.put("felix.cache.locking", "false");
    settings.put("felix.service.urlhandlers", "false");
    settings.put("felix.log.level", Integer.toString(Logger.LOG_WARNING));
    settings.put("felix.log.logger", new FrameworkLogger(complaints));
    settings.put("felix.cm.dir", configuration.toString());
    settings.put("ds.loglevel", "error");
    LibraryExceptions.make();
    Felix felix = new Felix(settings);
    felix.start();
    UninstalledBundles.removeFrom(felix);
    felix.getBundleContext().registerService(BootReport.class, report, new Hashtable<>());
    return new NodeFramework(felix);
  }

  /**
   * Installs a bundle where it lies, without a copy.
   *
   * @throws BundleException if it is no bundle
   */
  void install(BundleManifest manifest, Path jar) throws BundleException {
    Bundle bundle = framework.getBundleContext().installBundle("reference:" + jar.toUri());
    bundles.put(id(manifest), bundle);
  }

  /**
   * Starts the provider of configurations and hands them over, so that no component is activated
   * without its own.
   *
   * @param configuration dictionaries by PID
   * @throws BundleException if the provider does not start
   * @throws IOException if it can not keep them
   */
  void configure(BootPlan plan, Map<String, Dictionary<String, Object>> configuration)
      throws BundleException, IOException {
    for (BundleManifest manifest : plan.order()) {
      boolean provides = manifest.exports().contains("org.osgi.service.cm");
      if (provides) {
        bundle(manifest).start();
      }
    }
    BundleContext context = framework.getBundleContext();
    ServiceReference<ConfigurationAdmin> reference =
        context.getServiceReference(ConfigurationAdmin.class);
    if (reference == null) {
      throw new BundleException(
          "no bundle of the distribution provides " + ConfigurationAdmin.class.getName());
    }
    ConfigurationAdmin admin = context.getService(reference);
    try {
      for (Map.Entry<String, Dictionary<String, Object>> entry : configuration.entrySet()) {
        Configuration found = admin.getConfiguration(entry.getKey(), null);
        found.update(entry.getValue());
      }
    } finally {
      context.ungetService(reference);
    }
  }

  /**
   * Wires all bundles in one go: bundles that start at the same time would stand in each other's
   * way for it.
   *
   * @throws BundleException naming the first that misses something, and what
   */
  void resolve() throws BundleException {
    FrameworkWiring wiring = framework.adapt(FrameworkWiring.class);
    if (!wiring.resolveBundles(bundles.values())) {
      for (Bundle bundle : bundles.values()) {
        if (bundle.getState() == Bundle.INSTALLED) {
          // Only a start tells what is missing.
          start(bundle);
        }
      }
    }
  }

  /**
   * Starts all bundles level by level, those of a level at the same time. It is called once.
   *
   * <p>Platform threads start them: their work is the loading of classes, during which a virtual
   * thread keeps its carrier. In rare starts under load, a virtual thread and the main thread
   * waited for ever for the lock of one jar, which no thread had (JDK 25; compare JDK-8369019).
   *
   * @throws BundleException the first that was thrown, when its level has come to an end
   * @throws InterruptedException if interrupted; starts in progress are interrupted too
   */
  void start(BootPlan plan) throws BundleException, InterruptedException {
    ThreadFactory threads = Thread.ofPlatform().name("start-", 0).factory();
    try (ExecutorService starters = Executors.newThreadPerTaskExecutor(threads)) {
      for (List<BundleManifest> level : plan.levels()) {
        List<Future<Bundle>> starting = new ArrayList<>();
        for (BundleManifest manifest : level) {
          Bundle bundle = bundle(manifest);
          starting.add(starters.submit(() -> start(bundle)));
        }
        try {
          await(starting);
        } catch (InterruptedException e) {
          starters.shutdownNow();
          throw e;
        }
      }
    }
    bundles.clear();
  }

  private static Bundle start(Bundle bundle) throws BundleException {
    if (bundle.getState() == Bundle.UNINSTALLED) {
      // A swap has replaced it meanwhile, and has started its successor.
      return bundle;
    }
    try {
      bundle.start();
      return bundle;
    } catch (BundleException e) {
      throw new BundleException(
          bundle.getSymbolicName() + " did not start: " + e.getMessage(), e.getType(), e);
    }
  }

  private static void await(List<Future<Bundle>> starting)
      throws BundleException, InterruptedException {
    Optional<BundleException> first = Optional.empty();
    for (Future<Bundle> start : starting) {
      try {
        start.get();
      } catch (ExecutionException e) {
        BundleException error =
            e.getCause() instanceof BundleException own
                ? own
                : new BundleException(RootCause.of(e), e);
        first = Optional.of(first.orElse(error));
      }
    }
    if (first.isPresent()) {
      throw first.get();
    }
  }

  /** Returns the context of the system bundle. */
  BundleContext context() {
    return framework.getBundleContext();
  }

  /**
   * Stops all bundles in reverse order of their start, then the framework. The bundle that replaces
   * others stops first: a swap that is under way is taken back while its organs can be started and
   * stopped, and starts none afterwards. A bundle that fails to stop is reported and does not keep
   * the others from stopping.
   *
   * @param progress opens a wait for each bundle
   * @param complaints receives a line for each bundle that failed to stop
   * @throws InterruptedException if interrupted
   */
  void stop(BootPlan plan, BootReport progress, Consumer<String> complaints)
      throws InterruptedException {
    for (Bundle bundle : stopOrder(plan)) {
      if (bundle.getState() != Bundle.ACTIVE && bundle.getState() != Bundle.STARTING) {
        continue;
      }
      try (Wait wait = progress.waiting(STOP_OF + bundle.getSymbolicName())) {
        bundle.stop();
        wait.done("");
      } catch (BundleException e) {
        complaints.accept(bundle.getSymbolicName() + " did not stop well: " + RootCause.of(e));
      }
    }
    try {
      framework.stop();
    } catch (BundleException e) {
      complaints.accept("the framework did not stop well: " + RootCause.of(e));
    }
    framework.waitForStop(0);
  }

  /**
   * Returns all bundles in the order in which they stop. One that was swapped in while the node ran
   * has the place of its predecessor; one that is in no plan came last and goes first.
   */
  private List<Bundle> stopOrder(BootPlan plan) {
    List<String> planned =
        plan.order().stream().map(BundleManifest::symbolicName).distinct().toList();
    List<Bundle> order = new ArrayList<>();
    for (Bundle bundle : framework.getBundleContext().getBundles()) {
      if (bundle.getBundleId() != Constants.SYSTEM_BUNDLE_ID) {
        order.add(bundle);
      }
    }
    order.sort(
        Comparator.comparing(NodeFramework::replacesOthers)
            .thenComparingInt(
                bundle -> {
                  int place = planned.indexOf(bundle.getSymbolicName());
                  return place < 0 ? planned.size() : place;
                })
            .reversed());
    return order;
  }

  private static boolean replacesOthers(Bundle bundle) {
    ServiceReference<?>[] services = bundle.getRegisteredServices(); // null if there are none
    return services != null
        && Stream.of(services)
            .map(each -> (String[]) each.getProperty(Constants.OBJECTCLASS))
            .anyMatch(each -> List.of(each).contains(LocalPlugins.class.getName()));
  }

  private Bundle bundle(BundleManifest manifest) {
    return bundles.get(id(manifest));
  }

  private static String id(BundleManifest manifest) {
    return manifest.symbolicName() + ":" + manifest.version();
  }

  private static final class FrameworkLogger extends Logger {
    private final Consumer<String> complaints;

    FrameworkLogger(Consumer<String> complaints) {
      this.complaints = complaints;
    }

    @Override
    @SuppressWarnings("rawtypes") // The overridden method has a raw parameter.
    protected void doLog(
        Bundle bundle, ServiceReference reference, int level, String message, Throwable error) {
      if (level <= LOG_WARNING) {
        String who = bundle == null ? "framework" : String.valueOf(bundle.getSymbolicName());
        complaints.accept(who + ": " + message + (error == null ? "" : ": " + RootCause.of(error)));
      }
    }
  }
}
