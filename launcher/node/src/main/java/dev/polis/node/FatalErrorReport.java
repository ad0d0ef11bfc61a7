package dev.polis.node;

import dev.polis.node.exit.RootCause;
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
   * Returns the lines for a process that ends. They lack the root cause, which is printed after
   * them, as the last line.
   *
   * @param organ which failed
   * @param cause why
   */
  static List<String> lines(String organ, Throwable cause) {
    List<String> lines = new ArrayList<>();
    lines.add("FATAL ERROR: " + organ + " cannot continue");
    String outer = cause.getMessage();
    if (outer != null
        && !RootCause.of(cause).contains(outer)
        && !outer.contains(RootCause.of(cause))) {
      lines.add("while: " + outer);
    }
    return lines;
  }

  /**
   * Returns the lines for the screen of a node that is parked.
   *
   * @param organ which failed
   * @param cause why
   */
  static List<String> screen(String organ, Throwable cause) {
    List<String> lines = new ArrayList<>();
    String edge = "█".repeat(COLUMNS);
    lines.add(edge);
    lines.add("  FATAL ERROR");
    lines.add("");
    lines.add("  " + organ + " cannot continue:");
    wrap(cause.getMessage() == null ? cause.toString() : cause.getMessage())
        .forEach(line -> lines.add("    " + line));
    lines.add("  because of");
    wrap(RootCause.of(cause)).forEach(line -> lines.add("    " + line));
    lines.add("");
    lines.add("  The node is parked. Restart the machine to try again.");
    lines.add(edge);
    return lines;
  }

  /**
   * Returns the text of the crash record, whose first line the next start prints.
   *
   * @param errors what went to standard error while the node started
   */
  static String recordOfStart(Instant when, String organ, Throwable cause, String errors) {
    StringWriter trace = new StringWriter();
    cause.printStackTrace(new PrintWriter(trace));
    String more = errors.isEmpty() ? "" : "\nStandard error until then:\n\n" + errors;
    return record(when, organ, RootCause.of(cause), trace + more);
  }

  /**
   * Returns the same for an end without an exception.
   *
   * @param cause one line
   * @param more for developers
   */
  static String record(Instant when, String organ, String cause, String more) {
    return when + " " + organ + " failed: " + cause + "\n\n" + more;
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
