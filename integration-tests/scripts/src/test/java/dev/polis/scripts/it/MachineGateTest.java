package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script that ends the trial of a new system, with a second of patience. */
class MachineGateTest {

  private static final String FORMER = "polis-00000001-a.efi";
  private static final String TRIAL = "polis-00000002-b+2-1.efi";

  @TempDir Path directory;
  private MachineRoot machine;

  @BeforeEach
  void onTrial() throws Exception {
    machine = MachineRoot.in(directory, "gate");
    Path words = machine.path("polis/machine/words");
    Files.writeString(
        words, Files.readString(words).replace("TRIAL_SECONDS=600", "TRIAL_SECONDS=1"));
    Files.createDirectories(machine.path("run/polis/slots"));
    Files.writeString(machine.path("run/polis/slots/running"), "b 0.3.0\n");
    Files.createDirectories(bootFiles());
    Files.createFile(bootFiles().resolve(FORMER));
    Files.createFile(bootFiles().resolve(TRIAL));
    machine.executable("usr/bin/mount", "#!/bin/bash\n");
    machine.executable("usr/bin/sleep", "#!/bin/bash\n");
    machine.executable("usr/bin/reboot", "#!/bin/bash\n>%s\n".formatted(rebooted()));
  }

  private Path bootFiles() {
    return machine.path("boot/EFI/Linux");
  }

  private Path rebooted() {
    return machine.path("rebooted");
  }

  private Path home() {
    return machine.path("state/ephemeral/launcher/home");
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(bootFiles())) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  @DisplayName("a system whose node is HOME stays, also if the ESP cannot be written at first")
  void stays() throws Exception {
    Files.createFile(home());
    machine.executable(
        "usr/bin/mount",
        "#!/bin/bash\n[[ -e %1$s ]] || { >%1$s; exit 32; }\n".formatted(machine.path("tried")));
    machine.run("gate");
    assertEquals(List.of(FORMER, "polis-00000002-b.efi"), names());
    assertTrue(machine.console().contains("the next try is in a minute"), machine.console());
    assertFalse(Files.exists(rebooted()));
  }

  @Test
  @DisplayName("a system whose node is not HOME in time is given up, and the machine reboots")
  void givenUp() throws Exception {
    machine.run("gate");
    assertEquals(List.of(FORMER, "polis-00000002-b+0-1.efi"), names());
    assertTrue(Files.exists(rebooted()));
  }

  @Test
  @DisplayName("the only system continues, and stays once its node is HOME")
  void only() throws Exception {
    Files.move(bootFiles().resolve(FORMER), bootFiles().resolve("polis-00000001-a+0-1.efi"));
    machine.executable(
        "usr/bin/sleep",
        "#!/bin/bash\n[[ ! -e %1$s ]] || >%2$s\n>%1$s\n".formatted(machine.path("slept"), home()));
    machine.run("gate");
    assertEquals(List.of("polis-00000001-a+0-1.efi", "polis-00000002-b.efi"), names());
    assertTrue(machine.console().contains("no other slot has a system"), machine.console());
    assertFalse(Files.exists(rebooted()));
  }

  @Test
  @DisplayName(
      "a machine that cannot prepare itself reboots in a trial, so that the loader counts it, and otherwise stays")
  void failed() throws Exception {
    Files.createFile(machine.path("run/polis/failed"));
    Files.delete(bootFiles().resolve(TRIAL));
    machine.run("gate");
    assertFalse(Files.exists(rebooted()));

    Path counted =
        machine.path(
            "sys/firmware/efi/efivars/LoaderBootCountPath-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f");
    Files.createDirectories(counted.getParent());
    Files.createFile(counted);
    machine.run("gate");
    assertTrue(Files.exists(rebooted()), "without the ESP the firmware's variable says it");
    assertEquals(List.of(FORMER), names());
  }
}
