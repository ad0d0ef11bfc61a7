package dev.polis.benchmarks;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.felix.framework.Felix;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;

/**
 * Starts the framework and the runtime of Declarative Services with no bundle of ours: the baseline
 * of a start. Prints READY and runs until it is ended.
 */
final class EmptyFramework {

  private EmptyFramework() {}

  /**
   * Starts it.
   *
   * @param arguments the folder for the framework; the bundles to start, SCR last
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, arguments[0]);
    settings.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
    settings.put("felix.service.urlhandlers", "false");
    settings.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, System.getProperty("system.packages"));
    settings.put("felix.cache.locking", "false");
    Felix felix = new Felix(settings);
    felix.start();
    for (int i = 1; i < arguments.length; i++) {
      Bundle bundle =
          felix
              .getBundleContext()
              .installBundle("reference:" + Path.of(arguments[i]).toAbsolutePath().toUri());
      bundle.start();
    }
    System.out.println("READY");
    if (Boolean.getBoolean("once")) {
      felix.stop();
    }
    felix.waitForStop(0);
  }
}
