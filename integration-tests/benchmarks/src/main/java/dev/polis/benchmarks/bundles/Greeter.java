package dev.polis.benchmarks.bundles;

import java.util.Dictionary;
import java.util.Hashtable;
import java.util.function.Supplier;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/** Offers a service that answers with the version of its bundle, while the bundle runs. */
public final class Greeter implements BundleActivator {
  /** Finds the service among others of its type. */
  public static final String FILTER = "(greeter=true)";

  private volatile boolean stopped;
  private ServiceRegistration<?> registration;

  @Override
  public void start(BundleContext context) {
    String version = context.getBundle().getVersion().toString();
    Supplier<String> service =
        () -> {
          if (stopped) {
            throw new IllegalStateException("version " + version + " is stopped");
          }
          return version;
        };
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put("greeter", "true");
    registration = context.registerService(Supplier.class.getName(), service, properties);
  }

  @Override
  public void stop(BundleContext context) {
    // Like every component, it first becomes unavailable to new users, then ends.
    registration.unregister();
    stopped = true;
  }
}
