package dev.polis.node;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Formats a fatal error for the screen and for the crash record. */
final class FatalErrorReport {
  /** Fits the oldest console. */
  private static final int COLUMNS = 80;

  private FatalErrorReport() {}

  /**
   * Returns the lines for the screen.
   *
   * @param organ which failed
   * @param cause why
   * @param next what becomes of the node
   * @return the lines of the screen
   */
  static List<String> lines(String organ, Throwable cause, String next) {
    List<String> lines = new ArrayList<>();
    String edge = "█".repeat(COLUMNS);
    lines.add(edge);
    lines.add("  FATAL ERROR");
    lines.add("");
    lines.add("  " + organ + " can not go on:");
    wrap(cause.getMessage() == null ? cause.toString() : cause.getMessage())
        .forEach(line -> lines.add("    " + line));
    lines.add("  because of");
    wrap(RootCause.of(cause)).forEach(line -> lines.add("    " + line));
    lines.add("");
    lines.add("  " + next);
    lines.add(edge);
    return lines;
  }

  /** Returns the text of the crash record, which the next start prints. */
  static String record(Instant when, String organ, Throwable cause) {
    StringWriter trace = new StringWriter();
    cause.printStackTrace(new PrintWriter(trace));
    return when + " " + organ + " failed: " + RootCause.of(cause) + "\n\n" + trace;
  }

  private static List<String> wrap(String text) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.strip().split("\\s+")) {
      if (!line.isEmpty() && line.length() + 1 + word.length() > COLUMNS - 6) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    lines.add(line.toString());
    return lines;
  }
}
