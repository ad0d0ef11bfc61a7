package dev.polis.handover.following.outside;

import dev.polis.handover.following.outside.contract.Kettle;
import java.util.Hashtable;
import java.util.Map;
import java.util.function.Supplier;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/** Offers the kettle to which it was bound at its bundle's start. */
public final class KettleUser implements BundleActivator {
  /** The name of its service, which is a supplier. */
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
    // The framework unregisters the service.
  }
}
