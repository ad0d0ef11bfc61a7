package dev.polis.storage;

import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What is mounted in this process's mount namespace, read from {@code /proc/self/mountinfo} each
 * time.
 */
final class Mounts {

  private static final Path TABLE = Path.of("/proc/self/mountinfo");
  private static final Pattern OCTAL = Pattern.compile("\\\\([0-7]{3})");

  /** One mount. */
  record Mount(Path point, String type, String source) {}

  private Mounts() {}

  /** What is mounted at a path; the topmost if there are several. */
  static Optional<Mount> at(Path point) throws FileException {
    try {
      return parse(Files.readAllLines(TABLE)).stream()
          .filter(mount -> mount.point().equals(point))
          .reduce((below, above) -> above);
    } catch (IOException e) {
      throw new FileException(
          Problem.IO, "cannot read " + TABLE, "mount /proc; nothing was changed", e);
    }
  }

  /** Reads the table; see proc_pid_mountinfo(5). */
  static List<Mount> parse(List<String> lines) {
    return lines.stream().map(Mounts::parse).toList();
  }

  private static Mount parse(String line) {
    String[] fields = line.split(" ");
    int separator = List.of(fields).indexOf("-");
    return new Mount(
        Path.of(unescape(fields[4])), fields[separator + 1], unescape(fields[separator + 2]));
  }

  private static String unescape(String field) {
    // The kernel escapes single bytes; a name beyond ASCII stays as it is.
    Matcher matcher = OCTAL.matcher(field);
    return matcher.replaceAll(
        found ->
            Matcher.quoteReplacement(
                new String(
                    new byte[] {(byte) Integer.parseInt(found.group(1), 8)},
                    StandardCharsets.ISO_8859_1)));
  }
}
