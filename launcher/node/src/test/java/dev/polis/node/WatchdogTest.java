package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Feeds files in the place of the machine's device. */
class WatchdogTest {
  @TempDir Path folder;
  private final List<String> said = new ArrayList<>();

  @Test
  @DisplayName("Each sign of life is a byte for the device, and the end does not switch it off")
  void fed() throws Exception {
    Path device = Files.createFile(folder.resolve("watchdog0"));
    try (Watchdog watchdog = Watchdog.open(Optional.of(device), said::add)) {
      watchdog.feed();
      watchdog.feed();
    }
    assertEquals(List.of((byte) 0, (byte) 0), bytes(device), "a V would switch it off");
    assertTrue(said.getFirst().contains(device + " restarts this machine"), said::toString);
  }

  @Test
  @DisplayName("A machine without the device says so once, and its node runs without")
  void absent() throws Exception {
    Path device = folder.resolve("watchdog0");
    try (Watchdog watchdog = Watchdog.open(Optional.of(device), said::add)) {
      watchdog.feed();
      watchdog.feed();
    }
    assertEquals(1, said.size(), said::toString);
    assertTrue(said.getFirst().contains("no watchdog restarts this machine"), said::toString);
    assertTrue(said.getFirst().contains(device.toString()), said::toString);
  }

  @Test
  @DisplayName("A node of a host has no watchdog, and says nothing of it")
  void none() throws Exception {
    try (Watchdog watchdog = Watchdog.open(Optional.empty(), said::add)) {
      watchdog.feed();
    }
    assertEquals(List.of(), said);
  }

  private static List<Byte> bytes(Path file) throws Exception {
    List<Byte> bytes = new ArrayList<>();
    for (byte each : Files.readAllBytes(file)) {
      bytes.add(each);
    }
    return bytes;
  }
}
