package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script that keeps the node of a machine running. */
class MachineNodeTest {

  private static final String START = "polis/launcher/script/start-node";

  @TempDir Path directory;
  private MachineRoot machine;

  @BeforeEach
  void makeMachine() throws Exception {
    machine = MachineRoot.in(directory, "node");
    machine.executable(
        "usr/bin/sleep",
        "if [[ $1 == 0.1 ]]; then exec /bin/sleep 0.1; else echo $1 >>%s; fi"
            .formatted(machine.path("pauses")));
    machine.executable("usr/bin/poweroff", "echo off >>" + machine.path("pauses"));
  }

  @Test
  @DisplayName(
      "A node that is killed twenty times starts again after pauses of 1 to 60 s, and anew at 1 s after it was HOME")
  void killed() throws Exception {
    machine.executable(START, "kill -9 $$");
    for (int kill = 0; kill < 20; kill++) {
      machine.run("node");
    }
    assertEquals("0\n1\n2\n4\n8\n16\n32\n" + "60\n".repeat(13), pauses());

    machine.executable(START, "touch %s; kill -9 $$".formatted(home()));
    machine.run("node");
    machine.run("node");
    assertTrue(pauses().endsWith("60\n60\n1\n"), pauses());
  }

  @Test
  @DisplayName(
      "After five ends before HOME a page says why, with the last lines and the record of the end, and what to do")
  void recovery() throws Exception {
    machine.executable(START, "seq 1 30; echo 'no room for the heap' >&2; exit 1");
    Files.writeString(machine.path("state/esp/crash.txt"), "storage failed: no disk\n");
    for (int start = 0; start < 4; start++) {
      machine.run("node");
    }
    assertFalse(machine.console().contains("RECOVERY"), machine.console());

    machine.run("node");
    String page = machine.console();
    page = page.substring(page.indexOf("RECOVERY"));
    assertTrue(page.contains("ended 5 times in a row before it was HOME, this time with 1"), page);
    assertTrue(page.contains("\n    30\n    no room for the heap\n"), page);
    assertFalse(page.contains("\n    19\n"), "twelve lines: " + page);
    assertTrue(page.contains("esp/crash.txt on the partition POLIS-STATE"), page);
    assertTrue(page.contains("    storage failed: no disk\n"), page);
    assertTrue(page.contains("next: the machine tries again in 16 s"), page);

    machine.executable(START, "touch %s; exit 1".formatted(home()));
    Files.delete(machine.path("dev/console"));
    machine.run("node");
    assertFalse(machine.console().contains("RECOVERY"), machine.console());
  }

  @Test
  @DisplayName("A node that ends in order ends the machine, and starts no other")
  void off() throws Exception {
    machine.executable(START, "exit 0");
    machine.run("node");
    assertEquals("0\noff\n3600\n", pauses());
  }

  private String pauses() throws Exception {
    return Files.readString(machine.path("pauses"));
  }

  private Path home() {
    return machine.path("state/ephemeral/launcher/home");
  }
}
