package dev.polis.plugins.swap;

import dev.polis.health.HealthCondition;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.osgi.framework.Bundle;

/**
 * Remembers the bundles that swaps could not remove, shows them in the node's health, and removes
 * them once they have ended. It removes them at once, or before the next swap. Thread-safe.
 */
final class Leftovers implements AutoCloseable {
  private static final String STUCK = "old-version-stuck";

  /**
   * The time for another attempt to stop a bundle; each swap waits this long for each remaining
   * one.
   */
  private static final Duration AGAIN = Duration.ofSeconds(2);

  /** The interval between looks at a remaining bundle; only its memory depends on it. */
  private static final Duration LOOK = Duration.ofSeconds(1);

  private final FrameworkBundles framework;
  private final PluginsHealth health;

  // Guarded by this.
  private final Map<Bundle, String> bundles = new LinkedHashMap<>(); // with their faults
  private Thread lookerOrNull; // null while no bundle is left
  private boolean closed;

  Leftovers(FrameworkBundles framework, PluginsHealth health) {
    this.framework = framework;
    this.health = health;
  }

  /**
   * Remembers the bundles that are still installed.
   *
   * @param why the reason for each bundle, as a text for people
   */
  synchronized void add(Collection<Bundle> maybe, Map<Bundle, String> why) {
    maybe.stream()
        .filter(Leftovers::isThere)
        .forEach(each -> bundles.put(each, why.getOrDefault(each, "it cannot be uninstalled")));
    show();
    if (!bundles.isEmpty() && lookerOrNull == null && !closed) {
      lookerOrNull = Thread.ofVirtual().name("swap-leftovers").start(this::look);
    }
  }

  /** Returns whether a bundle is the rest of an earlier swap, outside the current generation. */
  synchronized boolean contains(Bundle bundle) {
    return bundles.containsKey(bundle);
  }

  /**
   * Tries again to remove the remaining bundles, except those that are still stopping or starting.
   */
  synchronized void remove() throws InterruptedException {
    for (Bundle each : Set.copyOf(bundles.keySet())) {
      // Another attempt would only add a thread that waits for the hanging one.
      if (each.getState() != Bundle.STOPPING && each.getState() != Bundle.STARTING) {
        framework.stop(each, AGAIN);
        framework.uninstall(each, AGAIN);
      }
    }
    forget();
  }

  private void forget() throws InterruptedException {
    framework.refresh(bundles.keySet());
    bundles.keySet().removeIf(each -> !isThere(each));
    show();
  }

  private void look() {
    try {
      while (!removeEnded()) {
        Thread.sleep(LOOK);
      }
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    }
  }

  /** Removes the bundles that have ended meanwhile; returns whether none is left. */
  private synchronized boolean removeEnded() throws InterruptedException {
    for (Bundle each : Set.copyOf(bundles.keySet())) {
      if (each.getState() == Bundle.RESOLVED || each.getState() == Bundle.INSTALLED) {
        framework.uninstall(each, AGAIN);
      }
    }
    forget();
    if (bundles.isEmpty()) {
      lookerOrNull = null;
    }
    return bundles.isEmpty();
  }

  private void show() {
    if (bundles.isEmpty()) {
      health.clear(STUCK);
      return;
    }
    health.set(
        HealthCondition.degraded(
            STUCK,
            "parts that a swap replaced or reverted have not ended: "
                + String.join("; ", bundles.values()),
            "nothing waits for it, and later swaps go around it; \"polisctl node restart --runtime\" frees its memory and its threads"));
  }

  private static boolean isThere(Bundle bundle) {
    return bundle.getState() != Bundle.UNINSTALLED;
  }

  /** Ends the looks; the end of the process ends the remaining bundles. */
  @Override
  public synchronized void close() {
    closed = true;
    if (lookerOrNull != null) {
      lookerOrNull.interrupt();
    }
  }
}
