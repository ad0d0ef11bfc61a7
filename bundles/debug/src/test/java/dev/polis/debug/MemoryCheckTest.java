package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryCheckTest {

  private static final String NO_LIMIT = "9223372036854771712";

  @TempDir private Path directory;
  private Path proc;
  private Path groups;

  @BeforeEach
  void machine() throws Exception {
    proc = Files.createDirectories(directory.resolve("proc"));
    groups = Files.createDirectories(directory.resolve("cgroup"));
    memory(8000);
    process("self", "0::/", "node", 1);
    process("7", "0::/node/etcd", "etcd", 90);
    process("8", "0::/other", "hog", 700);
  }

  private void memory(int availableMebibytes) throws IOException {
    Files.writeString(
        proc.resolve("meminfo"),
        "MemTotal: %d kB\nMemAvailable: %d kB\n".formatted(16000 << 10, availableMebibytes << 10));
  }

  private void process(String pid, String group, String name, int mebibytes) throws IOException {
    Path folder = Files.createDirectories(proc.resolve(pid));
    Files.writeString(folder.resolve("cgroup"), group + "\n");
    Files.writeString(folder.resolve("comm"), name + "\n");
    Files.writeString(folder.resolve("status"), "VmRSS:\t%d kB\n".formatted(mebibytes << 10));
  }

  private void group(String folder, String limit, String usage, String stat) throws IOException {
    Path group = Files.createDirectories(groups.resolve(folder));
    Files.writeString(group.resolve(limit.split("=")[0]), limit.split("=")[1] + "\n");
    Files.writeString(group.resolve(usage.split("=")[0]), usage.split("=")[1] + "\n");
    Files.writeString(group.resolve("memory.stat"), stat);
  }

  private Optional<HealthCondition> look() throws IOException {
    return new MemoryCheck(proc, groups).look();
  }

  @Test
  @DisplayName("a machine with little memory left is named, with the process that takes most of it")
  void machineIsShort() throws Exception {
    assertEquals(Optional.empty(), look());
    memory(511);
    HealthCondition condition = look().orElseThrow();
    assertTrue(condition.reason().startsWith("this machine has 511 MiB of memory left of 16000"));
    assertTrue(condition.remedy().contains("process 8 (hog) has 700 MiB"), condition::remedy);
    assertTrue(condition.remedy().contains("give the machine more"), condition::remedy);
  }

  @Test
  @DisplayName("a cgroup of version 2 above the node's is named, and its largest process")
  void secondVersion() throws Exception {
    process("self", "0::/node/jvm", "java", 80);
    group("node/jvm", "memory.max=max", "memory.current=1", "");
    group(
        "node", "memory.max=%d".formatted(200 << 20), "memory.current=%d".formatted(199 << 20), "");
    HealthCondition condition = look().orElseThrow();
    assertTrue(
        condition.reason().startsWith("the cgroup /node, in which the node runs, has 1 MiB"));
    assertTrue(condition.remedy().contains("process 7 (etcd) has 90 MiB"), condition::remedy);
    assertTrue(condition.remedy().endsWith(groups + "/node/memory.max"), condition::remedy);
  }

  @Test
  @DisplayName("in a cgroup of version 1, pages of files count as free, and no limit is none")
  void firstVersion() throws Exception {
    process("self", "4:memory:/node", "java", 80);
    String full = "memory.usage_in_bytes=%d".formatted(199 << 20);
    group("memory/node", "memory.limit_in_bytes=%d".formatted(200 << 20), full, "");
    assertTrue(look().isPresent());
    group(
        "memory/node",
        "memory.limit_in_bytes=%d".formatted(200 << 20),
        full,
        "total_inactive_file %d\ntotal_active_file %d\n".formatted(9 << 20, 9 << 20));
    assertEquals(Optional.empty(), look());
    group("memory/node", "memory.limit_in_bytes=" + NO_LIMIT, full, "");
    assertEquals(Optional.empty(), look());
  }
}
