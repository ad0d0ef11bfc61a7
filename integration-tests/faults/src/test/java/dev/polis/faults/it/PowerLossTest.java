package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.power.ForceSwitch;
import dev.polis.fixtures.power.PowerLoss;
import dev.polis.fixtures.power.PowerLoss.Effort;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Cuts the power at each recorded flush and at moments in between, while the node's code changes
 * its files; {@code polis test --long} tries 200 moments in between. {@code
 * -Dpolis.scenarios=FILES,ROLES} chooses scenarios.
 */
@Tag("longer")
class PowerLossTest {

  static Stream<PowerScenarios> scenarios() {
    String chosen = System.getProperty("polis.scenarios");
    return chosen == null
        ? Stream.of(PowerScenarios.values())
        : Arrays.stream(chosen.split(",")).map(PowerScenarios::valueOf);
  }

  @ParameterizedTest
  @MethodSource("scenarios")
  void afterALossOfPowerEachChangeIsDoneOrNotBegun(PowerScenarios scenario) throws Exception {
    PowerLoss.Outcome outcome =
        PowerLoss.run(scenario.open(new ForceSwitch()), Effort.configured());
    assertTrue(outcome.points() > 0);
    assertEquals(List.of(), outcome.violations());
  }
}
