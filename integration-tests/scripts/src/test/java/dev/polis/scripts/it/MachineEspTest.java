package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script that mounts the ESP, on disks as a loss of power during a rename leaves them. */
@Tag("full")
class MachineEspTest {

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int BYTES = 300_001;
  private static final int ENTRY = 32;

  private static final String FORMER = "polis-00000001-a.efi";
  private static final String TRIAL = "polis-00000002-b+3.efi";
  private static final String RENAMED = "polis-00000002-b+2-1.efi";

  @TempDir Path directory;
  private MachineRoot machine;
  private Path esp;

  @BeforeEach
  void disk() throws Exception {
    machine = MachineRoot.in(directory.resolve("root"), "esp");
    esp = directory.resolve("esp.img");
    run("mkfs.vfat", "-F", "32", "-C", esp.toString(), "65536");
    for (String folder : List.of("EFI", "EFI/polis", "polis", "EFI/Linux")) {
      run("mmd", "-i", esp.toString(), "::/" + folder);
    }
    // Files stand for what is mounted, since a test needs no rights of root.
    machine.executable(
        "usr/bin/mount",
        "[[ $1 == -o ]] || mcopy -s -n -i %s ::/ %s\n".formatted(esp, machine.path("boot")));
  }

  private static void run(String... command) throws Exception {
    Finished.of(List.of(command), Map.of(), PATIENCE).requireSuccess(command[0]);
  }

  private void file(String name, int content) throws Exception {
    byte[] bytes = new byte[BYTES];
    Arrays.fill(bytes, (byte) content);
    Path file = Files.write(directory.resolve("file"), bytes);
    run("mcopy", "-i", esp.toString(), file.toString(), "::/" + name);
  }

  /** Returns the places of the entries of our files, in the order in which they were made. */
  private List<Integer> entries(ByteBuffer disk) {
    List<Integer> found = new ArrayList<>();
    for (int at = 0; at + ENTRY <= disk.capacity(); at += ENTRY) {
      if (disk.getInt(at + 28) == BYTES && disk.get(at + 11) == 0x20) {
        found.add(at);
      }
    }
    return found;
  }

  private ByteBuffer bytes() throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(esp)).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Lets an entry name the bytes of another one; its own bytes have no name any more. */
  private void share(int entry, int with) throws IOException {
    ByteBuffer disk = bytes();
    int to = entries(disk).get(entry);
    int from = entries(disk).get(with);
    for (int field : List.of(20, 26)) {
      disk.putShort(to + field, disk.getShort(from + field));
    }
    Files.write(esp, disk.array());
  }

  private List<String> names(String folder) throws IOException {
    try (Stream<Path> files = Files.list(machine.path("boot/" + folder))) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  private void start() throws Exception {
    Files.createDirectories(machine.path("boot"));
    List<String> command = List.of(machine.path("polis/machine/esp").toString(), esp.toString());
    Finished.of(command, Map.of(), PATIENCE).requireSuccess("esp");
  }

  private void requireWhole(String name, int content) throws IOException {
    byte[] wanted = new byte[BYTES];
    Arrays.fill(wanted, (byte) content);
    assertArrayEquals(wanted, Files.readAllBytes(machine.path("boot/EFI/Linux/" + name)));
  }

  @Test
  @DisplayName("of two names of one boot file the first stays, whole, and the other slot too")
  void twoNames() throws Exception {
    file("EFI/Linux/" + FORMER, 1);
    file("EFI/Linux/" + TRIAL, 2);
    file("EFI/Linux/" + RENAMED, 3);
    share(2, 1);
    start();
    assertEquals(List.of(FORMER, TRIAL), names("EFI/Linux"));
    requireWhole(FORMER, 1);
    requireWhole(TRIAL, 2);
    assertEquals(List.of("EFI", "polis"), names(""), "bytes without a name are free again");
    assertTrue(machine.console().contains("share clusters") || machine.console().contains(TRIAL));
  }

  @Test
  @DisplayName("of an update's file that has its name already, the loader's name stays")
  void updateUnderWay() throws Exception {
    file("EFI/Linux/" + FORMER, 1);
    file("polis/next", 2);
    file("EFI/Linux/" + TRIAL, 3);
    ByteBuffer disk = bytes();
    List<Integer> found = entries(disk);
    int next = found.stream().filter(at -> disk.get(at) == 'N').findFirst().orElseThrow();
    share(found.indexOf(next), found.size() - 1);
    start();
    assertEquals(List.of(FORMER, TRIAL), names("EFI/Linux"));
    requireWhole(TRIAL, 3);
    assertEquals(List.of(), names("polis"));
  }

  @Test
  @DisplayName("a boot file without a name leaves the other slot, and a sound disk is not changed")
  void noName() throws Exception {
    file("EFI/Linux/" + FORMER, 1);
    byte[] sound = Files.readAllBytes(esp);
    start();
    assertArrayEquals(sound, Files.readAllBytes(esp));
    assertEquals("", machine.console());

    file("EFI/Linux/" + TRIAL, 2);
    ByteBuffer disk = bytes();
    // A removed entry begins with this byte; so do those of its long name.
    int entry = entries(disk).getLast();
    for (int at = entry; at == entry || disk.get(at + 11) == 0x0f; at -= ENTRY) {
      disk.put(at, (byte) 0xe5);
    }
    Files.write(esp, disk.array());
    run("rm", "-r", machine.path("boot").toString());
    start();
    assertEquals(List.of(FORMER), names("EFI/Linux"));
    requireWhole(FORMER, 1);
    assertEquals(List.of("EFI", "polis"), names(""));
  }
}
