package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.health.HealthCondition;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ConsensusHealthTest {

  @ParameterizedTest
  @EnumSource(EtcdAlarm.Kind.class)
  @DisplayName("each alarm of etcd is reported with what ends it, and not with where to read of it")
  void alarm(EtcdAlarm.Kind kind) {
    HealthCondition told =
        ConsensusHealth.of(
                new ConsensusStatus.Running(
                    "node",
                    "1",
                    "2",
                    List.of(),
                    List.of(EtcdMaintenance.text(new EtcdAlarm(1, kind)))))
            .orElseThrow();
    assertTrue(told.reason().contains(kind.name()), told.reason());
    assertFalse(told.remedy().contains("polisctl explain"), told.remedy());
  }
}
