package dev.polis.node;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** What is left to say when the trapdoor has opened. */
final class GuruScreen {
  /** Fits the oldest console. */
  private static final int COLUMNS = 80;

  private GuruScreen() {}

  /**
   * @param organ which failed
   * @param cause why
   * @param next what becomes of the node
   * @return the lines of the screen
   */
  static List<String> lines(String organ, Throwable cause, String next) {
    List<String> lines = new ArrayList<>();
    String edge = "█".repeat(COLUMNS);
    lines.add(edge);
    lines.add("  GURU MEDIATION ERROR");
    lines.add("  (Error condition: init trapdoor closed)");
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

  /** What is kept for the next boot. */
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
