package dev.polis.health;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Turns the texts of failures, which are for programmers, into texts for people. */
final class PlainWords {
  /** How the supervision tree joins a failure and its causes. */
  private static final String AND_CAUSE = "; caused by ";

  /** The type of an exception, with or without its package, and the colon behind it. */
  private static final Pattern TYPE =
      Pattern.compile(
          "(?<![\\w.$])(?:[a-z]\\w*\\.)*[A-Z][\\w$]*(?:Exception|Error|Failure)(?::\\s*|$)");

  /** The interface behind an IPv6 address, which is its own affair. */
  private static final Pattern SCOPE = Pattern.compile("(?<=[0-9a-f:])%[\\w.-]+");

  /** How a library prints its own parts, such as {@code [id: 0x5, L:/127.0.0.1:5]}. */
  private static final Pattern INSIDE =
      Pattern.compile(
          "\\s*(?:\\[id: 0x[^\\]]*\\]|\\b\\w+@[0-9a-f]{4,}\\b|\\b[A-Z]\\w*Context\\([^()]*\\))");

  private PlainWords() {}

  /**
   * Returns a failure and its causes without the types of exceptions and the insides of libraries.
   * A cause that repeats what was said is left out.
   *
   * @param line one line, with {@code "; caused by "} before each cause
   * @return one line that is never blank
   */
  static String of(String line) {
    List<String> said = new ArrayList<>();
    for (String part : line.split(Pattern.quote(AND_CAUSE))) {
      String words = INSIDE.matcher(TYPE.matcher(part).replaceAll("")).replaceAll("");
      String text = SCOPE.matcher(words).replaceAll("").strip();
      if (!text.isEmpty() && said.stream().noneMatch(each -> each.contains(text))) {
        said.removeIf(text::contains);
        said.add(text);
      }
    }
    return said.isEmpty()
        ? "a defect of the program (%s)".formatted(line.strip())
        : String.join(": ", said);
  }
}
