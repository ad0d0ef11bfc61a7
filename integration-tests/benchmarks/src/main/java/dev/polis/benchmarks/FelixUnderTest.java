package dev.polis.benchmarks;

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.felix.framework.Felix;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.FrameworkWiring;

/**
 * Runs bundles in a bare Felix. For each file named on standard input it stops, updates and starts
 * the first bundle, rewires its users, and prints DONE.
 */
final class FelixUnderTest {

  private FelixUnderTest() {}

  /**
   * Runs it until standard input ends.
   *
   * @param arguments the folder for the framework; the bundles to start
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, arguments[0]);
    settings.put(Constants.FRAMEWORK_STORAGE_CLEAN, Constants.FRAMEWORK_STORAGE_CLEAN_ONFIRSTINIT);
    settings.put("felix.service.urlhandlers", "false");
    settings.put("felix.cache.locking", "false");
    Felix felix = new Felix(settings);
    felix.start();
    for (int i = 1; i < arguments.length; i++) {
      felix.getBundleContext().installBundle(Path.of(arguments[i]).toUri().toString()).start();
    }
    System.out.println("READY");
    Bundle moving = felix.getBundleContext().getBundle(1);
    try (BufferedReader files =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String file = files.readLine(); file != null; file = files.readLine()) {
        update(felix, moving, Path.of(file));
        System.out.println("DONE");
      }
    }
    felix.stop();
    felix.waitForStop(0);
  }

  private static void update(Felix felix, Bundle bundle, Path file) throws Exception {
    bundle.stop();
    try (InputStream content = Files.newInputStream(file)) {
      bundle.update(content);
    }
    bundle.start();
    CountDownLatch refreshed = new CountDownLatch(1);
    felix
        .adapt(FrameworkWiring.class)
        .refreshBundles(List.of(bundle), event -> refreshed.countDown());
    refreshed.await();
  }
}
