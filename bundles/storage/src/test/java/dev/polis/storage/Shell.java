package dev.polis.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.FileDigest;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;

/** Runs commands on the machine, and examines its files. */
final class Shell {

  private Shell() {}

  static void run(String... command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(Commands.located(List.of(command))).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), String.join(" ", command) + ": " + output);
  }

  /** Returns one digest over names, modes and contents of everything below a path. */
  static String digest(Path top) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    try (var paths = Files.walk(top)) {
      for (Path path : paths.sorted(Comparator.naturalOrder()).toList()) {
        digest.update(path.toString().getBytes(StandardCharsets.UTF_8));
        digest.update(
            Files.getPosixFilePermissions(path).stream()
                .sorted()
                .toList()
                .toString()
                .getBytes(StandardCharsets.UTF_8));
        if (Files.isRegularFile(path)) {
          digest.update(FileDigest.of(path).getBytes(StandardCharsets.UTF_8));
        }
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  /** Returns whether any file below a path holds a text. */
  static boolean contains(Path top, String text) throws IOException, InterruptedException {
    Process grep =
        new ProcessBuilder("grep", "-rqaF", text, top.toString()).redirectErrorStream(true).start();
    return grep.waitFor() == 0;
  }
}
