package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.node.exit.Exit;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks the next start's message about a crashed JVM. */
class JvmErrorTest {
  @TempDir Path folder;

  @Test
  @DisplayName(
      "A node with a full heap ends at once; its next start reports it, with the size, and keeps the JVM's report")
  void outOfMemory() throws Exception {
    TestDistribution distribution = new TestDistribution(folder.resolve("distribution"));
    Path state = folder.resolve("state");
    Path launcher = state.resolve("ephemeral/launcher");
    try (LauncherProcess node =
        new LauncherProcess(
            List.of(
                "-Dpolis.distribution=" + distribution.folder(),
                "-Ddev.polis.kubernetes=eat",
                "-Xmx96m",
                "-Xmx48m",
                "-XX:+CrashOnOutOfMemoryError",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=" + launcher.resolve("jvm-error.txt")),
            "run",
            "--state",
            state.toString())) {
      node.await("HOME after");
      assertEquals(Exit.FAILED, node.exit());
    }
    assertTrue(Files.exists(launcher.resolve("jvm-error.txt")), "the JVM left no report");
    try (LauncherProcess node =
        new LauncherProcess(
            List.of("-Dpolis.distribution=" + distribution.folder(), "-Ddev.polis.kubernetes=home"),
            "run",
            "--state",
            state.toString())) {
      String said = node.await("the last run crashed: ");
      assertTrue(
          said.contains(
              "jvm failed: the node ran out of memory: its heap of at most 48 MiB was full (Java heap space); give it a larger one (polis up --heap)"),
          said);
      assertTrue(
          said.contains("the whole record is in " + launcher.resolve("crash-shown.txt")), said);
      node.await("HOME after");
      node.terminate();
      assertEquals(Exit.OK, node.exit());
    }
    assertFalse(Files.exists(launcher.resolve("jvm-error.txt")), "it would be shown again");
    String kept = Files.readString(launcher.resolve("crash-shown.txt"));
    assertTrue(kept.contains("S U M M A R Y"), "the JVM's report is not in the record");
  }
}
