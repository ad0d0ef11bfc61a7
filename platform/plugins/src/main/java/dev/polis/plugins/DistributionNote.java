package dev.polis.plugins;

import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.swap.PluginsHealth;
import java.util.List;

/**
 * Shows in the node's health the plugins whose version differs from the distribution's. Such a
 * difference is no fault: an order for a swap caused it.
 */
final class DistributionNote implements AutoCloseable {
  private static final String CODE = "distribution-differs";

  private final PluginsHealth health;
  private final Thread follower;

  DistributionNote(PluginsHealth health, Value<LocalInventory> inventory) {
    this.health = health;
    this.follower = Thread.ofVirtual().name("distribution-note").start(() -> follow(inventory));
  }

  private void follow(Value<LocalInventory> inventory) {
    try (Watcher<LocalInventory> changes = inventory.watch()) {
      while (true) {
        show(differences(changes.get()));
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns each difference as a text, such as {@code dev.polis.metrics 0.1.5 (the distribution has
   * 0.2.0)}.
   */
  static List<String> differences(LocalInventory inventory) {
    return inventory.distribution().stream()
        .filter(own -> !inventory.running().contains(own))
        .map(
            own ->
                "%s %s (the distribution has %s)"
                    .formatted(
                        own.symbolicName(),
                        inventory
                            .running(own.symbolicName())
                            .map(StoredPlugin::version)
                            .orElse("does not run"),
                        own.version()))
        .sorted()
        .toList();
  }

  private void show(List<String> differences) {
    if (differences.isEmpty()) {
      health.clear(CODE);
      return;
    }
    health.set(
        HealthCondition.up(
            CODE,
            "other versions run than the distribution has: %s; \"polisctl plugin adopt\" runs the distribution's"
                .formatted(String.join(", ", differences))));
  }

  @Override
  public void close() {
    follower.interrupt();
    try {
      follower.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    health.clear(CODE);
  }
}
