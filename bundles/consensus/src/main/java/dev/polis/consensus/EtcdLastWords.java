package dev.polis.consensus;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds in etcd's log the line that says why it ended. */
final class EtcdLastWords {

  // The last few screens of a log: the reason is among them or nowhere.
  private static final int LOOK_BACK_BYTES = 16 << 10;
  private static final int SHOWN_CHARACTERS = 600;

  private EtcdLastWords() {}

  /** The last line at level fatal, panic or error, else the last line at all. */
  static String of(Path log) {
    try {
      List<String> lines = tail(log).lines().filter(line -> !line.isBlank()).toList();
      return shown(
          Stream.of("\"level\":\"fatal\"", "\"level\":\"panic\"", "\"level\":\"error\"", "")
              .map(
                  level ->
                      lines.reversed().stream().filter(line -> line.contains(level)).findFirst())
              .flatMap(Optional::stream)
              .findFirst()
              .orElse("nothing at all"));
    } catch (IOException unreadable) {
      return "its log " + log + " cannot be read: " + unreadable.getMessage();
    }
  }

  private static String tail(Path log) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
      long start = Math.max(0, file.length() - LOOK_BACK_BYTES);
      byte[] bytes = new byte[(int) (file.length() - start)];
      file.seek(start);
      file.readFully(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  private static String shown(String line) {
    return line.length() <= SHOWN_CHARACTERS ? line : line.substring(0, SHOWN_CHARACTERS) + "…";
  }
}
