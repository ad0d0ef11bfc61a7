package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Computes the size of a node's heap. */
class NodeHeapTest {

  @TempDir Path directory;
  private ScriptFolder scripts;

  @BeforeEach
  void copy() throws Exception {
    scripts = ScriptFolder.in(directory);
    write("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:        1 kB\n");
  }

  @ParameterizedTest
  @CsvSource({"512,96", "768,96", "2048,256", "8192,1024", "262144,1024"})
  @DisplayName("The heap is an eighth of the memory, at least 96 MiB and at most a gibibyte")
  void share(int memory, int heap) throws Exception {
    assertEquals(heap + "\n", node("node_heap " + memory).requireSuccess("node_heap").out());
  }

  @ParameterizedTest
  @CsvSource({"96m,96", "512M,512", "2g,2048"})
  @DisplayName("The operator may choose another size")
  void chosen(String size, int heap) throws Exception {
    assertEquals(heap + "\n", node("node_heap 8192 " + size).requireSuccess("node_heap").out());
  }

  @ParameterizedTest
  @CsvSource({
    "64m,3,needs 96 MiB",
    "9g,3,machine has 8192 MiB",
    "40g,3,31744 MiB",
    "2,2,512m or 2g"
  })
  @DisplayName("A size that a node cannot use is refused with the reason")
  void refused(String size, int code, String words) throws Exception {
    Finished run = node("node_heap 8192 " + size);
    assertEquals(code, run.code(), run.all());
    assertTrue(run.err().contains(words), run.all());
  }

  @Test
  @DisplayName("Without a cgroup, the memory is the machine's")
  void machine() throws Exception {
    assertEquals("8192\n", memory());
  }

  @Test
  @DisplayName("The least limit of the cgroups above counts, of version 2")
  void cgroup2() throws Exception {
    write("proc/self/cgroup", "0::/system.slice/polis.service\n");
    write("sys/fs/cgroup/system.slice/polis.service/memory.max", "max\n");
    write("sys/fs/cgroup/system.slice/memory.max", "1073741824\n");
    assertEquals("1024\n", memory());
  }

  @Test
  @DisplayName("The limit of a container counts, whose cgroup is the topmost visible one")
  void container() throws Exception {
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.max", "536870912\n");
    assertEquals("512\n", memory());
  }

  @Test
  @DisplayName("A limit of version 1 counts, also if the path is one of the host")
  void cgroup1() throws Exception {
    write("proc/self/cgroup", "12:cpu,cpuacct:/\n4:memory:/docker/f00\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
    assertEquals("256\n", memory());
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assertEquals("8192\n", memory());
  }

  private String memory() throws Exception {
    return node("machine_memory " + directory).requireSuccess("machine_memory").out();
  }

  private Finished node(String command) throws Exception {
    return scripts.finish(
        List.of(
            "bash",
            "-c",
            "set -euo pipefail; cd %s; source launcher/script/words.sh; source launcher/script/node.sh; %s"
                .formatted(directory, command)));
  }

  private void write(String name, String content) throws Exception {
    Path file = scripts.path(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
  }
}
