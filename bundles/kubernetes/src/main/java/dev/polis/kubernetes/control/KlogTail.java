package dev.polis.kubernetes.control;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Finds the line of a program's log that says what is wrong with it. */
final class KlogTail {

  /** The last hundred lines or so; a program says why it ends just before it does. */
  private static final int READ_BYTES = 16 << 10;

  private static final int SHOWN_CHARACTERS = 400;

  /**
   * Lines of klog at level error or fatal, those of CoreDNS, and what a program prints about its
   * arguments.
   */
  private static final Pattern TROUBLE =
      Pattern.compile("[EF]\\d{4} .*|\\[(ERROR|FATAL)] .*|Error: .*|panic: .*");

  private static final Pattern HEADER = Pattern.compile("^[IWEF]\\d{4} \\S+\\s+\\d+ \\S+\\] ");

  private KlogTail() {}

  /**
   * Returns the last line that reports an error, without its header, or else the last line.
   *
   * @param from where to begin: what earlier runs of the program have logged is not the reason of
   *     this one's end; a file that is shorter was truncated since, and is read from its beginning
   */
  static String lastError(Path log, long from) {
    try {
      List<String> lines =
          tail(log, from).lines().filter(line -> !line.isBlank()).toList().reversed();
      return lines.stream()
          .filter(line -> TROUBLE.matcher(line).matches())
          .findFirst()
          .or(() -> lines.stream().findFirst())
          .map(KlogTail::shown)
          .orElse("it has logged nothing");
    } catch (IOException unreadable) {
      return "its log %s cannot be read: %s".formatted(log, unreadable.getMessage());
    }
  }

  private static String tail(Path log, long from) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
      long start = Math.max(from <= file.length() ? from : 0, file.length() - READ_BYTES);
      byte[] bytes = new byte[(int) (file.length() - start)];
      file.seek(start);
      file.readFully(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  private static String shown(String line) {
    String text = HEADER.matcher(line).replaceFirst("");
    return text.length() <= SHOWN_CHARACTERS ? text : text.substring(0, SHOWN_CHARACTERS) + "…";
  }
}
