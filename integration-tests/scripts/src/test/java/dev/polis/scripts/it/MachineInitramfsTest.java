package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script of the initramfs, with programs that stand for those of the machine. */
class MachineInitramfsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String OTHER = "polis-00000001-a.efi";
  private static final String OWN = "polis-00000002-b.efi";

  @TempDir Path root;

  @BeforeEach
  void machine() throws IOException {
    for (String each :
        List.of("bin", "proc", "dev", "modules", "esp/EFI/Linux", "system", "sys/class/block")) {
      Files.createDirectories(root.resolve(each));
    }
    String text =
        Files.readString(ScriptFolder.REPOSITORY.resolve("launcher/image/initramfs/init"))
            .replace(">/dev/console", ">>/dev/console")
            .replaceAll(
                "(?<![\\w}])/(?=(proc|sys|dev/(?!null)|bin|modules|esp|system|secure-boot)\\b)",
                root + "/")
            .replace("/bin\n", "/bin:/usr/bin:/bin\n");
    program("init", text.substring(text.indexOf('\n')));
    Files.writeString(root.resolve("modules/order"), "");
    Files.writeString(
        root.resolve("proc/cmdline"), "quiet polis.slot=b polis.verity=ab polis.hash-offset=4096");
    partition("sda1", "POLIS-ESP");
    partition("sda3", "POLIS-SYSTEM-b");
    bootFile(OTHER);
    bootFile(OWN);
    for (String name : List.of("busybox", "mount", "umount", "veritysetup", "sleep")) {
      program(name, "");
    }
    program("switch_root", ">%s\n".formatted(root.resolve("switched")));
    // The script does not continue after it.
    program("reboot", "kill $PPID\n");
  }

  private void program(String name, String script) throws IOException {
    new ScriptFolder(root).executable("bin/" + name, script);
  }

  private void partition(String name, String label) throws IOException {
    Path event = root.resolve("sys/class/block/%s/uevent".formatted(name));
    Files.createDirectories(event.getParent());
    Files.writeString(event, "PARTNAME=%s\n".formatted(label));
  }

  private void bootFile(String name) throws IOException {
    Files.createFile(root.resolve("esp/EFI/Linux").resolve(name));
  }

  /** Fails as often as told, then succeeds; only calls with this word count. */
  private void failing(String name, String word, int times) throws IOException {
    program(
        name,
        "[[ \"$*\" != *%1$s* || $(wc -l <%2$s) -ge %3$d ]] || { echo >>%2$s; exit 1; }\n"
            .formatted(word, Files.createFile(root.resolve(name + "-failed")), times));
  }

  private void start() throws Exception {
    Finished.of(List.of(root.resolve("bin/init").toString()), Map.of(), PATIENCE);
  }

  private boolean started() {
    return Files.exists(root.resolve("switched"));
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(root.resolve("esp/EFI/Linux"))) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  @DisplayName("errors of a disk that pass within five attempts give no slot up")
  void passingError() throws Exception {
    failing("veritysetup", "open", 4);
    failing("mount", "erofs", 4);
    start();
    assertTrue(started(), "the system starts");
    assertEquals(List.of(OTHER, OWN), names());
  }

  @Test
  @DisplayName("a system that fails five times is given up, and the other slot stays")
  void damaged() throws Exception {
    failing("veritysetup", "open", 5);
    start();
    assertFalse(started(), "the system does not start");
    assertEquals(List.of(OTHER, "polis-00000002-b+0-1.efi"), names());
  }

  @Test
  @DisplayName("both names of a boot file are given up, and neither counts as the other slot")
  void twoNames() throws Exception {
    failing("mount", "erofs", 99);
    bootFile("polis-00000002-b+2-1.efi");
    start();
    assertEquals(List.of(OTHER, "polis-00000002-b+0-1.efi", "polis-00000002-b+0-2.efi"), names());

    Files.delete(root.resolve("esp/EFI/Linux/polis-00000002-b+0-1.efi"));
    Files.delete(root.resolve("esp/EFI/Linux/polis-00000002-b+0-2.efi"));
    Files.delete(root.resolve("esp/EFI/Linux").resolve(OTHER));
    bootFile(OWN);
    bootFile("polis-00000002-b+2-1.efi");
    start();
    assertEquals(List.of("polis-00000002-b+2-1.efi", OWN), names(), "the only system stays");
  }
}
