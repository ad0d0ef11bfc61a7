package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script that keeps the node of a machine running, in a folder for the machine's root. */
class MachineNodeTest {

  private static final String START = "polis/launcher/script/start-node";

  @TempDir Path directory;
  private ScriptFolder machine;
  private Path console;

  @BeforeEach
  void makeMachine() throws Exception {
    machine = new ScriptFolder(directory);
    console = machine.path("dev/console");
    for (String folder : List.of("dev", "run/polis", "state/ephemeral/launcher", "state/esp")) {
      Files.createDirectories(machine.path(folder));
    }
    machine.executable(
        "usr/bin/sleep",
        "if [[ $1 == 0.1 ]]; then exec /bin/sleep 0.1; else echo $1 >>%s; fi".formatted(pauses()));
    machine.executable("usr/bin/poweroff", "echo off >>" + pauses());
    for (String script : List.of("node", "words")) {
      String text = Files.readString(ScriptFolder.REPOSITORY.resolve("launcher/image/machine/" + script));
      machine.executable(
          "polis/machine/" + script,
          text.replace(">/dev/console", ">>/dev/console")
              .replaceAll("(?<![\\w}])/(?=(run|state|polis|dev/console)\\b)", directory + "/")
              .replace("PATH=", "PATH=%s/usr/bin:".formatted(directory)));
    }
  }

  @Test
  @DisplayName(
      "A node that is killed twenty times starts again after pauses of 1 to 60 s, and anew at 1 s after it was HOME")
  void killed() throws Exception {
    machine.executable(START, "kill -9 $$");
    for (int kill = 0; kill < 20; kill++) {
      run();
    }
    String first = "0\n1\n2\n4\n8\n16\n32\n";
    assertEquals(first + "60\n".repeat(13), Files.readString(pauses()));

    machine.executable(START, "touch %s; kill -9 $$".formatted(home()));
    run();
    run();
    assertTrue(Files.readString(pauses()).endsWith("60\n60\n1\n"), Files.readString(pauses()));
  }

  @Test
  @DisplayName(
      "After five ends before HOME a page says why, with the last lines and the record of the end, and what to do")
  void recovery() throws Exception {
    machine.executable(START, "seq 1 30; echo 'no room for the heap' >&2; exit 1");
    Files.writeString(machine.path("state/esp/crash.txt"), "the storage organ failed: no disk\n");
    for (int start = 0; start < 4; start++) {
      run();
    }
    assertFalse(Files.readString(console).contains("RECOVERY"), Files.readString(console));

    run();
    String page = Files.readString(console);
    page = page.substring(page.indexOf("RECOVERY"));
    assertTrue(page.contains("ended 5 times in a row before it was HOME, this time with 1"), page);
    assertTrue(page.contains("\n    30\n    no room for the heap\n"), page);
    assertFalse(page.contains("\n    19\n"), "twelve lines: " + page);
    assertTrue(page.contains("esp/crash.txt on the partition POLIS-STATE"), page);
    assertTrue(page.contains("    the storage organ failed: no disk\n"), page);
    assertTrue(page.contains("next: the machine tries again in 16 s"), page);

    machine.executable(START, "touch %s; exit 1".formatted(home()));
    Files.delete(console);
    run();
    assertFalse(Files.readString(console).contains("RECOVERY"), Files.readString(console));
  }

  @Test
  @DisplayName("A node that ends in order ends the machine, and starts no other")
  void off() throws Exception {
    machine.executable(START, "exit 0");
    run();
    assertEquals("0\noff\n3600\n", Files.readString(pauses()));
  }

  private void run() throws Exception {
    Finished run = machine.run("polis/machine/node");
    run.requireSuccess("the script \"node\"");
  }

  private Path pauses() {
    return directory.resolve("pauses");
  }

  private Path home() {
    return directory.resolve("state/ephemeral/launcher/home");
  }
}
