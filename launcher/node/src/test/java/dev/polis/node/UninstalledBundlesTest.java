package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.apache.felix.framework.Felix;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;

class UninstalledBundlesTest {
  private static final int BUNDLES = 20;

  /** One bundle may stay, since the framework's event thread may still refer to the last one. */
  private static final int BY_CHANCE = 1;

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir Path cache;
  private Felix felix;

  @BeforeEach
  void start() throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, cache.toString());
    settings.put("felix.cache.locking", "false");
    settings.put("felix.service.urlhandlers", "false");
    felix = new Felix(settings);
    felix.start();
    felix.getBundleContext().registerService(Runnable.class, () -> {}, null);
  }

  @AfterEach
  void stop() throws Exception {
    felix.stop();
    felix.waitForStop(0);
  }

  @Test
  @DisplayName("a bundle that used a service is collected after its uninstallation")
  void collected() throws Exception {
    UninstalledBundles.removeFrom(felix);
    List<WeakReference<Bundle>> gone = new ArrayList<>();
    for (int n = 0; n < BUNDLES; n++) {
      gone.add(new WeakReference<>(usedAndUninstalled(n)));
    }
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (held(gone) > BY_CHANCE) {
      assertTrue(
          System.nanoTime() < deadline,
          () -> held(gone) + " of " + BUNDLES + " uninstalled bundles are still held");
      System.gc();
    }
  }

  private static long held(List<WeakReference<Bundle>> bundles) {
    return bundles.stream().filter(each -> each.get() != null).count();
  }

  private Bundle usedAndUninstalled(int number) throws Exception {
    Bundle bundle = felix.getBundleContext().installBundle("test:" + number, jar(number));
    bundle.start();
    BundleContext context = bundle.getBundleContext();
    ServiceReference<Runnable> reference = context.getServiceReference(Runnable.class);
    context.getService(reference).run();
    context.ungetService(reference);
    bundle.uninstall();
    return bundle;
  }

  private static InputStream jar(int number) throws Exception {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().putValue("Bundle-ManifestVersion", "2");
    manifest.getMainAttributes().putValue("Bundle-SymbolicName", "test" + number);
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    try (JarOutputStream jar = new JarOutputStream(content, manifest)) {
      jar.finish();
    }
    return new ByteArrayInputStream(content.toByteArray());
  }
}
