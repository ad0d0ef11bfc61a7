package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.power.PowerLoss;
import dev.polis.fixtures.power.PowerLoss.Effort;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Cuts the power of a whole node, at a few moments of its first boot and of its life; {@code polis
 * test --long} tries 100 moments, or {@code -Dpolis.power.moments}.
 */
@Tag("longer")
class NodePowerLossIT {

  @Test
  @DisplayName(
      "after a loss of power the node is home as itself, in the same cluster, with all that was"
          + " acknowledged, and no stranger owns it")
  void unencrypted() throws Exception {
    run(StorageModesIT.Mode.INSECURE);
  }

  @Test
  @Tag("full")
  @DisplayName("the same holds for a node with an encrypted volume")
  void encrypted() throws Exception {
    StorageModesIT.requireGround(StorageModesIT.Mode.ENCRYPTED);
    run(StorageModesIT.Mode.ENCRYPTED);
  }

  private static void run(StorageModesIT.Mode mode) throws Exception {
    NodeScenario scenario = new NodeScenario("127.0.88.1", mode);
    PowerLoss.Outcome outcome = PowerLoss.run(scenario, Effort.configured());
    System.out.printf("power loss: a node, %s, %d moments%n", mode.option, outcome.points());
    assertEquals(List.of(), outcome.violations());
  }
}
