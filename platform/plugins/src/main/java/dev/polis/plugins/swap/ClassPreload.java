package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.Collection;
import org.osgi.framework.Bundle;
import org.osgi.framework.wiring.BundleWiring;

/**
 * Loads the classes of a successor while its predecessor still answers calls, so that the first
 * calls of the successor do not wait for the class loader. No code of the bundle runs.
 *
 * <p>It loads only classes in the packages below the bundle's symbolic name: the bundle's own, and
 * not the libraries inside it, which the bundle uses only in part.
 */
final class ClassPreload {
  /**
   * The time for which it loads classes before calls get the processor: two milliseconds, less than
   * a call takes.
   */
  private static final long WORK_NANOS = Duration.ofMillis(2).toNanos();

  private static final Duration PAUSE = Duration.ofMillis(2);

  /**
   * The longest time in all, many times what an organ needs; the activation loads the rest of a
   * larger bundle.
   */
  private static final long LIMIT_NANOS = Duration.ofSeconds(2).toNanos();

  private ClassPreload() {}

  /** Loads the classes of a resolved bundle; returns their number. */
  static int load(Bundle bundle) throws InterruptedException {
    BundleWiring wiring = bundle.adapt(BundleWiring.class);
    if (wiring == null) {
      return 0;
    }
    String folder = bundle.getSymbolicName().replace('.', '/');
    Collection<String> files =
        wiring.listResources(
            folder,
            "*.class",
            BundleWiring.LISTRESOURCES_RECURSE | BundleWiring.LISTRESOURCES_LOCAL);
    int loaded = 0;
    long began = System.nanoTime();
    long turn = began;
    for (String file : files) {
      long now = System.nanoTime();
      if (now - began > LIMIT_NANOS) {
        return loaded;
      }
      if (now - turn > WORK_NANOS) {
        Thread.sleep(PAUSE);
        turn = System.nanoTime();
      }
      loaded += link(bundle, file) ? 1 : 0;
    }
    return loaded;
  }

  /** Loads and verifies one class; returns whether this was successful. */
  private static boolean link(Bundle bundle, String file) {
    try {
      Class<?> type =
          bundle.loadClass(file.substring(0, file.length() - ".class".length()).replace('/', '.'));
      // Asks for the constructors because the JVM verifies a class before it lists them.
      return type.getDeclaredConstructors().length >= 0;
    } catch (ClassNotFoundException | LinkageError unusable) {
      // A component that needs this class fails in its activation and reports it; no other code
      // uses the class.
      return false;
    }
  }
}
