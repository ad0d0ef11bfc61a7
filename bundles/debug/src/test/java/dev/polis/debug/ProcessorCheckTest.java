package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessorCheckTest {

  @TempDir private Path directory;
  private final AtomicLong nanos = new AtomicLong();
  private ProcessorCheck check;

  @BeforeEach
  void machine() throws Exception {
    check = new ProcessorCheck(directory, directory, nanos::get);
    write("self/cgroup", "0::/\n");
    stolen(0, 0);
  }

  private void write(String name, String content) throws Exception {
    Path file = directory.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
  }

  /** Sets the time in which the machine computed, and in which its host let it wait. */
  private void stolen(long computed, long stolen) throws Exception {
    write("stat", "cpu  %d 0 0 900000 0 0 0 %d 0 0\ncpu0 1\n".formatted(computed, stolen));
  }

  private Optional<HealthCondition> look() throws Exception {
    nanos.addAndGet(Duration.ofSeconds(5).toNanos());
    return check.look();
  }

  private void periods(String folder, long all, long throttled) throws Exception {
    write(
        folder + "/cpu.stat",
        "nr_periods %d\nnr_throttled %d\nthrottled_time 17\n".formatted(all, throttled));
  }

  @Test
  @DisplayName("a cgroup of version 1 that holds the node back is named, and only while it does")
  void firstVersion() throws Exception {
    write("self/cgroup", "2:cpuacct,cpu:/node/jvm\n");
    write("cpu/node/cpu.cfs_quota_us", "2000\n");
    write("cpu/node/cpu.cfs_period_us", "100000\n");
    periods("cpu/node", 1000, 900);
    assertEquals(Optional.empty(), look(), "the time before the window is not counted");
    periods("cpu/node", 1049, 949);
    assertEquals(Optional.empty(), look(), "too short to measure");
    periods("cpu/node", 1100, 950);
    HealthCondition condition = look().orElseThrow();
    assertEquals("processor-short", condition.code());
    assertTrue(
        condition
            .reason()
            .startsWith(
                "the cgroup /node, in which the node runs, may use 2 % of a processor, and was held back in 50 % of its time"),
        condition::reason);
    assertTrue(
        condition.remedy().contains(directory + "/cpu/node/cpu.cfs_quota_us"), condition::remedy);

    nanos.addAndGet(Duration.ofMinutes(1).toNanos());
    periods("cpu/node", 1700, 951);
    assertEquals(Optional.empty(), look(), "a minute later");
  }

  @Test
  @DisplayName("a cgroup of version 2 with a quota is measured, and one without is not")
  void secondVersion() throws Exception {
    write("self/cgroup", "0::/node\n");
    write("node/cpu.max", "max 100000\n");
    periods("node", 0, 0);
    look();
    periods("node", 100, 99);
    assertEquals(Optional.empty(), look());
    write("node/cpu.max", "50000 100000\n");
    look();
    periods("node", 200, 180);
    HealthCondition condition = look().orElseThrow();
    assertTrue(condition.reason().contains("50 % of a processor"), condition::reason);
    assertTrue(condition.remedy().contains("node/cpu.max"), condition::remedy);
  }

  @Test
  @DisplayName("a virtual machine whose host gives it no processor says so")
  void host() throws Exception {
    stolen(1000, 0);
    assertEquals(Optional.empty(), look());
    stolen(1100, 99);
    assertEquals(Optional.empty(), look());
    stolen(1100, 300);
    HealthCondition condition = look().orElseThrow();
    assertTrue(
        condition
            .reason()
            .startsWith("the host of this virtual machine gave it no processor in 75 %"),
        condition::reason);
  }
}
