package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.PluginStatus;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LastRunTest {

  private static final String FULL = "jvm failed: the node ran out of memory: its heap was full";

  private final List<PluginStatus> plugins = new ArrayList<>();

  private static PluginStatus plugin(String name, String role) {
    return new PluginStatus(
        name,
        OptionalLong.of(7),
        new PluginStatus.Provided(Set.of(), Set.of(role)),
        "version 1.0.0 runs, vouched for by key rel",
        List.of(),
        Instant.EPOCH);
  }

  @Test
  @DisplayName("after a full heap, the plugins that did not come with the platform are named")
  void fullHeap() {
    LastRun run = new LastRun(FULL, () -> List.copyOf(plugins));
    plugins.add(plugin("com.acme.early", "Early"));
    assertEquals(
        "the last run crashed: " + FULL, run.look().orElseThrow().reason(), "at the start");
    plugins.clear();
    assertEquals("the last run crashed: " + FULL, run.look().orElseThrow().reason(), "unknown");
    plugins.add(plugin("dev.polis.kubernetes", "KubernetesWorker"));
    plugins.add(plugin("com.acme.hog", "Hog"));

    HealthCondition condition = run.look().orElseThrow();
    assertEquals(HealthLevel.UP, condition.level());
    assertTrue(
        condition
            .reason()
            .contains("the heap: com.acme.hog (version 1.0.0 runs, vouched for by key rel); take"),
        condition::reason);
    plugins.clear();
    assertEquals(condition, run.look().orElseThrow(), "the plugins are read once");
  }

  @Test
  @DisplayName("another crash, and a node without plugins of its own, name none")
  void nothingToName() {
    plugins.add(plugin("com.acme.hog", "Hog"));
    String reason = new LastRun("storage failed", () -> plugins).look().orElseThrow().reason();
    assertEquals("the last run crashed: storage failed", reason);
    LastRun run =
        new LastRun(FULL, () -> List.of(plugin("dev.polis.kubernetes", "KubernetesWorker")));
    run.look();
    reason = run.look().orElseThrow().reason();
    assertFalse(reason.contains("plugins"), reason);
  }
}
