package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script that reads what the kernel kept of its end. */
class MachinePanicTest {

  @TempDir Path directory;

  @Test
  @DisplayName(
      "The parts that the kernel kept become the crash record of the next start, oldest line first, and are removed")
  void record() throws Exception {
    MachineRoot machine = MachineRoot.in(directory, "panic");
    Path last =
        kept(machine, 1, "<0>[ 9.2] Kernel panic - not syncing: no init\n<4>[ 9.3] trace\n");
    Path first = kept(machine, 2, "<6>[ 9.1] mounting\n");

    machine.run("panic");
    assertEquals(
        """
        2026-01-01T00:00:00Z kernel failed: Kernel panic - not syncing: no init

        [ 9.1] mounting
        [ 9.2] Kernel panic - not syncing: no init
        [ 9.3] trace
        """,
        Files.readString(machine.path("state/esp/crash.txt")));
    assertFalse(Files.exists(last) || Files.exists(first), "the parts are removed");
    assertEquals(
        "polis: the kernel ended at 2026-01-01T00:00:00Z: Kernel panic - not syncing: no init\n",
        machine.console());
  }

  @Test
  @DisplayName("Without a panic there is no record, and the console shows nothing")
  void none() throws Exception {
    MachineRoot machine = MachineRoot.in(directory, "panic");
    machine.run("panic");
    assertFalse(Files.exists(machine.path("state/esp/crash.txt")));
    assertEquals("", machine.console());
  }

  private static Path kept(MachineRoot machine, int part, String lines) throws Exception {
    Path file = machine.path("sys/fs/pstore/dmesg-efi_pstore-17672256000%d001".formatted(part));
    Files.createDirectories(file.getParent());
    return Files.writeString(file, "Panic#1 Part%d\n%s".formatted(part, lines));
  }
}
