package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthScope;
import dev.polis.plugins.manifest.DistributionManifest;
import dev.polis.plugins.manifest.PackOptions;
import dev.polis.plugins.manifest.PluginPacker;
import dev.polis.plugins.manifest.Provided;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Removes plugins from a real framework. */
@Timeout(120)
class RemovalCheckTest {
  private static final String ROLE = "NightlyBackup";
  private static final SwapOrder REMOVAL = new SwapOrder.Remove("dev.polis.backup");

  @TempDir Path folder;
  private SwapFixture node;

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
    Path jar = node.organ("backup", "1.0.0", "well", "", "", "");
    PackOptions role = PackOptions.providing(List.of(new Provided.Role(ROLE)));
    byte[] manifest =
        DistributionManifest.of(PluginPacker.describe(jar, role)).encode().toByteArray();
    SwapStatus there = node.run(new SwapOrder.Replace(jar, manifest));
    assertInstanceOf(SwapOutcome.Applied.class, there.outcome().orElseThrow(), there::toString);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  @DisplayName(
      "a plugin whose role the node has is not removed, and the refusal names the remedy; without"
          + " the role it is")
  void roleFirst() throws Exception {
    try (HealthScope _ = node.health().role(ROLE, "")) {
      SwapOutcome refused = node.run(REMOVAL).outcome().orElseThrow();

      assertInstanceOf(SwapOutcome.Refused.class, refused, refused::reason);
      assertTrue(
          refused.reason().contains("polisctl node role remove NODE " + ROLE), refused::reason);
      assertTrue(node.generation().contains("backup 1.0.0"));
    }

    SwapOutcome removed = node.run(REMOVAL).outcome().orElseThrow();

    assertInstanceOf(SwapOutcome.Applied.class, removed, removed::reason);
    assertEquals(List.of("above 1.0.0", "base 1.0.0"), node.generation());
  }
}
