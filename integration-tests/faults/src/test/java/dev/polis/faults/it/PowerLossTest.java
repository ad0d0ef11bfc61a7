package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.power.ForceSwitch;
import dev.polis.fixtures.power.PowerLoss;
import dev.polis.fixtures.power.PowerLoss.Effort;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The power fails at each recorded flush and at moments between, while the code of the node changes
 * its files; {@code polis test --long} tries 200 moments between.
 */
@Tag("longer")
class PowerLossTest {

  @ParameterizedTest
  @EnumSource
  void afterALossOfPowerEachChangeIsDoneOrNotBegun(PowerScenarios scenario) throws Exception {
    PowerLoss.Outcome outcome =
        PowerLoss.run(scenario.open(new ForceSwitch()), Effort.configured());
    assertTrue(outcome.points() > 0);
    assertEquals(List.of(), outcome.violations());
  }
}
