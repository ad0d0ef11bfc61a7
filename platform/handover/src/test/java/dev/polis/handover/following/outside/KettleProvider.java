package dev.polis.handover.following.outside;

import dev.polis.handover.following.outside.contract.Kettle;
import java.util.Hashtable;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** Provides a kettle while its bundle is active. */
public final class KettleProvider implements BundleActivator {

  @Override
  public void start(BundleContext context) {
    String name = "kettle " + context.getBundle().getVersion();
    Kettle kettle = () -> name;
    context.registerService(Kettle.class, kettle, new Hashtable<>());
  }

  @Override
  public void stop(BundleContext context) {
    // The framework unregisters the service.
  }
}
