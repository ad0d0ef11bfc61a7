package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ends a node without a word while the counters of the kernel rise, and starts it again. */
class MemoryKillsTest {
  @TempDir Path folder;
  private NodeDirectory directory;
  private MemoryKills kills;

  @BeforeEach
  void prepare() throws Exception {
    directory = NodeDirectory.of(folder.resolve("state"));
    directory.prepare();
    kills = new MemoryKills(directory, folder.resolve("root"));
    write("proc/sys/kernel/random/boot_id", "first\n");
    write("proc/vmstat", "nr_free_pages 17\noom_kill 4\n");
  }

  private void write(String file, String text) throws Exception {
    Path place = folder.resolve("root").resolve(file);
    Files.createDirectories(place.getParent());
    Files.writeString(place, text);
  }

  private String told() throws Exception {
    Optional<String> crash = Node.takeCrash(directory);
    return crash.orElse("");
  }

  @Test
  @DisplayName("the start after a kill for want of memory says so, with the counts of the machine")
  void machine() throws Exception {
    kills.begin();
    write("proc/vmstat", "nr_free_pages 17\noom_kill 6\n");

    directory.prepare();
    kills.begin();

    String told = told();
    assertTrue(
        told.contains(
            "kernel failed: process %d ended by a signal like 9 (SIGKILL), which leaves no word and which polis down did not send; for want of memory the kernel ended 2 of this machine's processes meanwhile. Give"
                .formatted(ProcessHandle.current().pid())),
        told);
    directory.prepare();
    kills.begin();
    assertEquals("", told(), "it is said once");
  }

  @Test
  @DisplayName("the counts of a control group are read, in both versions of control groups")
  void group() throws Exception {
    write("proc/self/cgroup", "4:hugetlb,memory:/a/b\n0::/\n");
    write("sys/fs/cgroup/memory/a/b/memory.oom_control", "under_oom 0\noom_kill 1\n");
    write("sys/fs/cgroup/memory/a/b/memory.failcnt", "10\n");
    kills.begin();
    write("sys/fs/cgroup/memory/a/b/memory.oom_control", "under_oom 0\noom_kill 2\n");
    write("sys/fs/cgroup/memory/a/b/memory.failcnt", "27\n");
    kills.begin();
    String first = told();
    assertTrue(
        first.contains(
            "the kernel ended 1 processes of the node's control group meanwhile; the memory limit of that group was reached 17 times"),
        first);

    write("proc/self/cgroup", "0::/c\n");
    write("sys/fs/cgroup/c/memory.events", "low 0\nmax 3\noom 1\noom_kill 0\n");
    kills.begin();
    write("sys/fs/cgroup/c/memory.events", "low 0\nmax 5\noom 1\noom_kill 1\n");
    kills.begin();
    String second = told();
    assertTrue(second.contains("the memory limit of that group was reached 2 times"), second);
  }

  @Test
  @DisplayName("an end by itself, a start of the machine, and a kill of another cause say nothing")
  void others() throws Exception {
    kills.begin();
    kills.end();
    write("proc/vmstat", "oom_kill 5\n");
    kills.begin();
    assertEquals("", told(), "after an end by itself");

    kills.begin();
    assertEquals("", told(), "while the kernel ended no process");

    write("proc/sys/kernel/random/boot_id", "second\n");
    write("proc/vmstat", "oom_kill 9\n");
    kills.begin();
    assertEquals("", told(), "after a start of the machine");

    Node.keepCrash(directory, "another");
    write("proc/vmstat", "oom_kill 10\n");
    kills.begin();
    assertTrue(told().startsWith("another"), "a crash that has its record keeps it");
  }
}
