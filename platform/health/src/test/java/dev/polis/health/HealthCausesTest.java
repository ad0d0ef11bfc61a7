package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HealthCausesTest {

  private static HealthStatus organ(String name, HealthCondition condition) {
    return HealthStatus.of(name, HealthKind.ORGAN, Instant.EPOCH, List.of(condition));
  }

  private static List<String> names(List<HealthStatus> statuses) {
    return statuses.stream().map(HealthStatus::name).toList();
  }

  @ParameterizedTest
  @CsvSource({
    "descriptors-short, 'accept: Too many open files'",
    "threads-short, 'fork: Resource temporarily unavailable'",
    "memory-short, 'etcd ended: killed by signal 9; the kernel ended it: this machine is out of memory'",
    "little-room, 'write /x: No space left on device'",
  })
  @DisplayName("what says that something is used up is the root of each failure for want of it")
  void usedUp(String code, String failure) {
    HealthCauses causes =
        new HealthCauses(
            List.of(
                organ("a", HealthCondition.degraded(code, "it is used up", "give more")),
                organ("b", HealthCondition.down("failed", failure, "").dueTo("b")),
                organ("c", HealthCondition.down("failed", "it hangs", ""))),
            _ -> Set.of());

    assertEquals(List.of("c", "a"), names(causes.roots()));
    assertEquals(List.of("b"), names(causes.victims()));
  }
}
