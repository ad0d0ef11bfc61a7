package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ConsensusHealthTest {

  @Test
  @DisplayName("a node that runs no etcd is well, and says so")
  void noMember() {
    HealthCondition told = ConsensusHealth.of(new ConsensusStatus.Stopped()).orElseThrow();
    assertEquals(HealthLevel.UP, told.level());
    assertTrue(told.reason().contains("etcd does not run"), told.reason());
  }

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
