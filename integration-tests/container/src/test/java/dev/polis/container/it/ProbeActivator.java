package dev.polis.container.it;

import java.util.Dictionary;
import java.util.Hashtable;
import org.ops4j.pax.exam.Constants;
import org.ops4j.pax.exam.ProbeInvoker;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** Offers the tests of the probe to the container outside. Runs inside the framework. */
public final class ProbeActivator implements BundleActivator {

  /** The service property by which the container finds a method. */
  private static final String SIGNATURE = "Probe-Signature";

  /** Called by the framework. */
  public ProbeActivator() {}

  @Override
  public void start(BundleContext context) {
    Dictionary<String, String> headers = context.getBundle().getHeaders();
    for (String signature : headers.get(Constants.PROBE_EXECUTABLE).split(",")) {
      Dictionary<String, Object> properties = new Hashtable<>();
      properties.put(SIGNATURE, signature);
      context.registerService(
          ProbeInvoker.class,
          ProbeMethod.of(headers.get(signature), context.getBundle()),
          properties);
    }
  }

  @Override
  public void stop(BundleContext context) {
    // The framework unregisters the services.
  }
}
