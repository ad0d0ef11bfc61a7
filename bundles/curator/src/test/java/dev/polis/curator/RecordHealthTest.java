package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordMemory;
import dev.polis.etcd.KeyValue;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.Node;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RecordHealthTest {

  private static final String SELF = "metropolis-" + "a".repeat(32);
  private static final byte[] GARBAGE = "garbage".getBytes(StandardCharsets.UTF_8);

  private final List<String> damages = new ArrayList<>();
  private final RecordMemory memory = new RecordMemory(damages::add);

  private Optional<HealthCondition> judged(KeyValue... stored) {
    memory.replace(memory.mark(), 9, List.of(stored));
    return RecordHealth.of(memory.now(), SELF);
  }

  private static KeyValue stored(String key, byte[] value) {
    return new KeyValue(key, value, 1, 7, 1, 0);
  }

  private static KeyValue configuration() {
    return stored(
        RecordKeys.CLUSTER_CONFIGURATION, ClusterConfiguration.getDefaultInstance().toByteArray());
  }

  private static KeyValue self() {
    return stored(RecordKeys.node(SELF), Node.getDefaultInstance().toByteArray());
  }

  @Test
  @DisplayName("whole records are nothing to tell, nor are records that were not listed yet")
  void well() {
    assertTrue(RecordHealth.of(memory.now(), SELF).isEmpty());
    assertEquals(Optional.empty(), judged(self(), configuration()));
  }

  @Test
  @DisplayName("a damaged record is reported with its key in etcd and the revision that is whole")
  void damaged() {
    HealthCondition told =
        judged(stored(RecordKeys.node(SELF), GARBAGE), configuration()).orElseThrow();

    String key = "namespaced:curator//nodes/" + SELF;
    assertTrue(told.reason().contains(key + ", written at revision 7"), told.reason());
    assertTrue(told.remedy().contains("--rev=6 --print-value-only " + key), told.remedy());
    assertEquals(
        List.of(
            "the record %s in etcd is damaged; restore it from a snapshot"
                .formatted(RecordKeys.node(SELF))),
        damages);
  }

  @Test
  @DisplayName("a leader whose own record is gone tells so")
  void missing() {
    HealthCondition told = judged(configuration()).orElseThrow();

    assertTrue(told.reason().contains("//nodes/" + SELF + " is missing"), told.reason());
  }

  @Test
  @DisplayName(
      "a leader without its own record and the configuration says that the records are gone")
  void gone() {
    HealthCondition told = judged().orElseThrow();

    assertEquals(HealthLevel.DOWN, told.level());
    assertTrue(
        told.reason().contains("removed the cluster's records from etcd: 0 are left"),
        told.reason());
    assertTrue(told.remedy().contains("--restore FILE"), told.remedy());
  }
}
