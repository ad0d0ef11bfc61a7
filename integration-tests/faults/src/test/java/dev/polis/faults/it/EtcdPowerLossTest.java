package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.polis.fixtures.power.PowerLoss;
import dev.polis.fixtures.power.PowerLoss.Effort;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Cuts the power while clients write into etcd, and starts etcd again on the remaining data. */
@Tag("longer")
class EtcdPowerLossTest {

  @Test
  void etcdKeepsEachAcknowledgedWrite() throws Exception {
    PowerLoss.Outcome outcome = PowerLoss.run(new EtcdScenario(), Effort.configured());
    assertEquals(List.of(), outcome.violations());
  }

  /** Shows that the other test can fail. */
  @Test
  @Tag("full")
  void anEtcdThatForcesNothingIsCaught() throws Exception {
    PowerLoss.Outcome outcome =
        PowerLoss.run(new EtcdScenario("--unsafe-no-fsync"), Effort.ACKNOWLEDGED);
    assertFalse(outcome.violations().isEmpty(), "nothing was lost without fsync");
  }
}
