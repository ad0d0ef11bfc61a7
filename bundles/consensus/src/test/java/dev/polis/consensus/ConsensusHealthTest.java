package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.files.layout.Root;
import dev.polis.health.FileCheck;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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

  @Test
  @DisplayName("the CA of etcd, its key and the member record are missed once they were whole")
  void files(@TempDir Path state) throws Exception {
    ConsensusFiles files = new ConsensusFiles(Root.at(state));
    MutableValue<ConsensusStatus> status =
        new MutableValue<>(new ConsensusStatus.Starting("its turn"));
    FileCheck check = ConsensusHealth.files(files, status);
    ConsensusPki.open(files, true, InstantSource.system());
    ConsensusRecord.bootstrapping("metropolis-1").write(files.member());
    assertEquals(Optional.empty(), check.look());

    Files.delete(files.caKey().path());
    Files.writeString(files.ca().path(), "garbage");
    Files.writeString(files.member().path(), "{}");

    String told = check.look().orElseThrow().reason();
    assertTrue(told.contains(files.ca() + " is damaged"), told);
    assertTrue(told.contains(files.caKey() + " is not there"), told);
    assertTrue(told.contains(files.member() + " is damaged"), told);

    status.set(new ConsensusStatus.Stopped());
    assertEquals(Optional.empty(), check.look(), "a node without a member needs none of them");
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
