package dev.polis.process;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Finds the line of a child's log that explains its end: for a crash its first line, not the stack
 * trace after it. It knows the formats of the children: zap, klog, logfmt, CoreDNS, and Go's own.
 */
public final class LastWords {

  /**
   * The bytes read from the end of a log: a trace of a few hundred goroutines, and the line before
   * it.
   */
  private static final int READ_BYTES = 256 << 10;

  private static final int SHOWN_CHARACTERS = 600;

  /** The lines after which a program ends by itself. */
  private static final Pattern FATAL =
      Pattern.compile(
          "\\{.*\"level\":\"(fatal|panic)\".*|F\\d{4} .*|.*\\blevel=(fatal|panic)\\b.*|\\[FATAL] .*");

  /** The lines with which Go's runtime begins a crash. */
  private static final Pattern CRASH =
      Pattern.compile("panic: .*|fatal error: .*|runtime: out of memory.*|SIG[A-Z]+: .*");

  private static final Pattern ERROR =
      Pattern.compile(
          "\\{.*\"level\":\"error\".*|E\\d{4} .*|.*\\blevel=error\\b.*|\\[ERROR] .*|Error: .*");

  private static final Pattern KLOG = Pattern.compile("^[IWEF]\\d{4} \\S+\\s+\\d+ \\S+\\] ");

  /** The form in which klog and logfmt quote a message and an error. */
  private static final Pattern QUOTED =
      Pattern.compile(
          "(?:.*\\blevel=\\w+ msg=)?%1$s(?:.*? err(?:or)?=%1$s)?.*"
              .formatted("\"((?:[^\"\\\\]|\\\\.)*+)\""));

  /** The form in which Go prints the type of an unreadable file. */
  private static final Pattern GO_TYPE =
      Pattern.compile("Go (?:value|struct field) .*? type struct \\{.*\\}");

  private LastWords() {}

  /**
   * Returns the explaining line; of klog and logfmt the message and the error in it.
   *
   * @param from the begin of the search: {@link ManagedProcess#logStart}; a shorter file was
   *     truncated since, and is read from its beginning
   * @return the last line that a program writes before it ends by itself or that begins a crash,
   *     else the last error, else the last line; empty if there is none
   * @throws IOException if the log cannot be read
   */
  public static Optional<String> find(Path log, long from) throws IOException {
    List<String> lines = tail(log, from).lines().filter(line -> !line.isBlank()).toList();
    return last(lines, FATAL, CRASH)
        .map(at -> lines.get(begin(lines, at)))
        .or(() -> last(lines, ERROR).map(lines::get))
        .or(() -> lines.isEmpty() ? Optional.empty() : Optional.of(lines.getLast()))
        .map(line -> plain(KLOG.matcher(line).replaceFirst("")));
  }

  private static String plain(String line) {
    Matcher quoted = QUOTED.matcher(line);
    String words = line;
    if (quoted.matches()) {
      String error = quoted.group(2) == null ? "" : ": " + quoted.group(2);
      words = (quoted.group(1) + error).replaceAll("\\\\(.)", "$1");
    }
    return GO_TYPE.matcher(words).replaceAll("what is expected there");
  }

  /** Returns the explaining line for people, shortened, or a note that there is none. */
  public static String of(Path log, long from) {
    try {
      return find(log, from).map(LastWords::shown).orElse("it has logged nothing");
    } catch (IOException unreadable) {
      return "its log %s cannot be read: %s".formatted(log, unreadable.getMessage());
    }
  }

  /** Returns a line, shortened if it is long. */
  public static String shown(String line) {
    return line.length() <= SHOWN_CHARACTERS ? line : line.substring(0, SHOWN_CHARACTERS) + "…";
  }

  private static Optional<Integer> last(List<String> lines, Pattern... kinds) {
    return IntStream.iterate(lines.size() - 1, at -> at >= 0, at -> at - 1)
        .filter(at -> List.of(kinds).stream().anyMatch(kind -> matches(kind, lines.get(at))))
        .boxed()
        .findFirst();
  }

  private static boolean matches(Pattern kind, String line) {
    return kind.matcher(line).matches();
  }

  /**
   * Returns the begin of a crash: a logger that panics has written its own, clearer line just
   * before Go's.
   */
  private static int begin(List<String> lines, int at) {
    return at > 0 && matches(CRASH, lines.get(at)) && matches(FATAL, lines.get(at - 1))
        ? at - 1
        : at;
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
}
