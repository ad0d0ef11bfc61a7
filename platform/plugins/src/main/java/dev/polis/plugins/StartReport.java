package dev.polis.plugins;

import dev.polis.health.HealthCondition;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import dev.polis.plugins.swap.PluginsHealth;
import java.io.IOException;
import java.util.List;

/**
 * Shows in the node's health that a start of the process left a generation that did not work or was
 * not trusted. A start after another swap no longer shows this.
 */
final class StartReport {
  private static final String FELL_BACK = "generation-fell-back";
  private static final String NOT_TRUSTED = "plugin-not-trusted";

  private StartReport() {}

  /**
   * Reads the end of the last swap, and shows it if a start ended it.
   *
   * @throws IOException if the history cannot be read
   */
  static void show(PluginStore store, PluginsHealth health) throws IOException {
    List<SwapRecord> history = SwapNotes.of(store).history();
    String outcome = history.isEmpty() ? "" : history.getLast().outcome();
    switch (outcome) {
      case SwapRecord.FELL_BACK ->
          health.set(
              HealthCondition.degraded(
                  FELL_BACK,
                  history.getLast().reason(),
                  "repair the plugin and swap it in again, or accept the generation with any other swap; polisctl plugin history shows what led to it"));
      case SwapRecord.NOT_TRUSTED ->
          health.set(
              HealthCondition.degraded(
                  NOT_TRUSTED,
                  history.getLast().reason(),
                  "sign the plugin with a key that the cluster trusts (polisctl plugin trust list) and swap it in again, or accept what runs with any other swap"));
      default -> {
        // The caller of an ordered swap knows its end.
      }
    }
  }
}
