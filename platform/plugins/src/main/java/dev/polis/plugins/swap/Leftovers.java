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
 * them when they have ended: at once, or before the next swap. Thread-safe.
 */
final class Leftovers implements AutoCloseable {
  private static final String STUCK = "old-version-stuck";

  /** What ends at all ends at once by now; each swap waits as long for each that does not. */
  private static final Duration AGAIN = Duration.ofSeconds(2);

  /** How often a bundle is looked at that does not end: nothing waits for it but its memory. */
  private static final Duration LOOK = Duration.ofSeconds(1);

  private final FrameworkBundles framework;
  private final PluginsHealth health;

  // Guarded by this.
  private final Map<Bundle, String> bundles = new LinkedHashMap<>(); // with what is wrong
  private Thread lookerOrNull; // null while nothing is left
  private boolean closed;

  Leftovers(FrameworkBundles framework, PluginsHealth health) {
    this.framework = framework;
    this.health = health;
  }

  /**
   * Remembers those of some bundles that are still installed.
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

  /**
   * Returns whether an earlier swap has left a bundle, which belongs to no generation that counts.
   */
  synchronized boolean contains(Bundle bundle) {
    return bundles.containsKey(bundle);
  }

  /**
   * Tries once more to remove the bundles that are left, except one that is still being stopped.
   */
  synchronized void remove() throws InterruptedException {
    for (Bundle each : Set.copyOf(bundles.keySet())) {
      // Another try would only be one more thread that waits for the one that hangs.
      if (each.getState() != Bundle.STOPPING) {
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

  /** Removes what has ended by itself; returns whether nothing is left. */
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

  /** Stops looking; the end of the process ends what is left. */
  @Override
  public synchronized void close() {
    closed = true;
    if (lookerOrNull != null) {
      lookerOrNull.interrupt();
    }
  }
}
