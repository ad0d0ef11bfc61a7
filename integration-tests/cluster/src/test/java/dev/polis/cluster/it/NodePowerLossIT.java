package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.power.PowerLoss;
import dev.polis.fixtures.power.PowerLoss.Effort;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The power of a whole node fails, at a few moments of its first boot and of its life; {@code polis
 * test --long} tries 200, or as many as {@code -Dpolis.power.moments} says.
 */
@Tag("longer")
class NodePowerLossIT {

  @Test
  void afterALossOfPowerTheNodeIsHomeWithAllThatWasAcknowledged() throws Exception {
    PowerLoss.Outcome outcome = PowerLoss.run(new NodeScenario("127.0.88.1"), Effort.configured());
    System.out.printf("power loss: a node, %d moments%n", outcome.points());
    assertEquals(List.of(), outcome.violations());
  }
}
