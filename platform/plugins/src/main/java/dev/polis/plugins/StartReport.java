package dev.polis.plugins;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthKind;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.io.IOException;
import java.util.List;

/**
 * Says in the node's health that the process fell back to an earlier generation when it started,
 * until the next swap is recorded.
 */
final class StartReport implements AutoCloseable {
  private static final String CODE = "generation-fell-back";

  /** Null if there is nothing to report. */
  private final HealthScope scopeOrNull;

  private StartReport(HealthScope scopeOrNull) {
    this.scopeOrNull = scopeOrNull;
  }

  /**
   * Reads how the last swap ended.
   *
   * @throws IOException if the history cannot be read
   */
  static StartReport open(PluginStore store, HealthRegistry health) throws IOException {
    List<SwapRecord> history = SwapNotes.of(store).history();
    boolean fell = !history.isEmpty() && history.getLast().outcome().equals(SwapRecord.FELL_BACK);
    if (!fell) {
      return new StartReport(null);
    }
    HealthScope scope = health.open(HealthKind.ORGAN, "plugins", "");
    scope.set(
        HealthCondition.degraded(
            CODE,
            history.getLast().reason(),
            "mend the plugin and swap it in again, or accept the generation with any other swap; polisctl plugin history shows what led to it"));
    return new StartReport(scope);
  }

  @Override
  public void close() {
    if (scopeOrNull != null) {
      scopeOrNull.close();
    }
  }
}
