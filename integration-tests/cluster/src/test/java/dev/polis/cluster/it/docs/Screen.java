package dev.polis.cluster.it.docs;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Holds the output of a command, with times, ids and addresses replaced by their kind, so that a
 * page's screen can be compared with a machine's.
 */
final class Screen {

  /**
   * The patterns of texts that differ from run to run, each with its placeholder, in the order of
   * replacement.
   */
  private enum Kind {
    NODE("metropolis-[0-9a-f]{32}"),
    FINGERPRINT("\\b[0-9a-f]{64}\\b"),
    TIMESTAMP("\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?Z?"),
    DAY("\\b\\d{4}-\\d\\d-\\d\\d\\b"),
    // etcd writes a member without leading zeroes.
    ID("\\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{12,16}\\b"),
    ADDRESS("\\b127(?:\\.\\d{1,3}){3}\\b"),
    TIME("\\b\\d+(?:\\.\\d+)? ?(?:s|ms|min)\\b"),
    SIZE("\\b\\d+(?:\\.\\d+)? (?:bytes|kB|KiB|MB|MiB|GB|GiB)\\b"),
    PROCESS("\\bprocess \\d+");

    private final Pattern pattern;

    Kind(String pattern) {
      this.pattern = Pattern.compile(pattern);
    }
  }

  private static final Pattern COLUMN_GAP = Pattern.compile(" {2,}");
  private static final String ANYTHING = "…";

  private Screen() {}

  static List<String> normalised(List<String> lines) {
    List<String> normal = new ArrayList<>();
    for (String line : lines) {
      String text = line.stripTrailing();
      for (Kind kind : Kind.values()) {
        text = kind.pattern.matcher(text).replaceAll(kind.name());
      }
      // The width of a column depends on its texts.
      text = text.substring(0, indent(text)) + gaps(text.substring(indent(text)));
      if (!text.isEmpty()) {
        normal.add(text);
      }
    }
    return normal;
  }

  private static int indent(String text) {
    return text.length() - text.stripLeading().length();
  }

  private static String gaps(String text) {
    return COLUMN_GAP.matcher(text).replaceAll("  ");
  }

  /**
   * Returns whether a printed screen matches the expected one, in which {@code …} stands for any
   * text.
   */
  static boolean matches(List<String> expected, List<String> printed) {
    return matches(normalised(expected), 0, normalised(printed), 0);
  }

  private static boolean matches(List<String> expected, int at, List<String> printed, int from) {
    if (at == expected.size()) {
      return from == printed.size();
    }
    if (expected.get(at).strip().equals(ANYTHING)) {
      for (int next = from; next <= printed.size(); next++) {
        if (matches(expected, at + 1, printed, next)) {
          return true;
        }
      }
      return false;
    }
    return from < printed.size()
        && lineMatches(expected.get(at), printed.get(from))
        && matches(expected, at + 1, printed, from + 1);
  }

  private static boolean lineMatches(String expected, String printed) {
    StringBuilder pattern = new StringBuilder();
    for (String part : expected.split(ANYTHING, -1)) {
      pattern.append(pattern.isEmpty() ? "" : ".*").append(Pattern.quote(part));
    }
    return printed.matches(pattern.toString());
  }
}
