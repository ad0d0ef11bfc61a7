package dev.polis.following.outside;

import dev.polis.following.outside.contract.Kettle;
import java.util.Hashtable;
import java.util.Map;
import java.util.function.Supplier;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/** Gives the kettle that it was bound to when its bundle was started. */
public final class KettleUser implements BundleActivator {
  /** The name of its service, a supplier. */
  public static final String CUP = "cup";

  @Override
  public void start(BundleContext context) {
    ServiceReference<Kettle> bound = context.getServiceReference(Kettle.class);
    Kettle kettle = context.getService(bound);
    Supplier<String> cup = kettle::get;
    context.registerService(Supplier.class, cup, new Hashtable<>(Map.of("name", CUP)));
  }

  @Override
  public void stop(BundleContext context) {
    // The framework takes the service back.
  }
}
