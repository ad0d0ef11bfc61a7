package dev.polis.health;

import dev.polis.base.boot.FailureText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Turns the texts of failures, which are for programmers, into texts for people. */
final class PlainWords {
  /** The text with which the supervision tree joins a failure and its causes. */
  private static final String AND_CAUSE = "; caused by ";

  /** The type of an exception, with or without its package, and the colon after it. */
  private static final Pattern TYPE =
      Pattern.compile(
          "(?<![\\w.$])(?:[a-z]\\w*\\.)*[A-Z][\\w$]*(?:Exception|Error|Failure)(?::\\s*|$)");

  /** The meanings of exception types whose message is only a path or a name. */
  private static final Map<Pattern, String> BY_TYPE =
      Map.of(
          alone("NotDirectoryException"), "$1 is no directory",
          alone("NoSuchFileException"), "$1 is not there",
          alone("FileAlreadyExistsException"), "something else is there: $1",
          alone("AccessDeniedException"), "$1: permission denied",
          alone("DirectoryNotEmptyException"), "$1 is not empty",
          alone("UnknownHostException"), "no address is known for the name $1");

  /** The JDK's message for a missing program; error 2 is ENOENT. */
  private static final Pattern NO_PROGRAM =
      Pattern.compile("Cannot run program \"([^\"]+)\"[^;]*?error(?:=|: )2\\b[^;]*");

  /** The interface after an IPv6 address, which people do not need. */
  private static final Pattern SCOPE = Pattern.compile("(?<=[0-9a-f:])%[\\w.-]+");

  /**
   * The form in which a library prints its internals, such as {@code [id: 0x5, L:/127.0.0.1:5]}.
   */
  private static final Pattern INSIDE =
      Pattern.compile(
          "\\s*(?:\\[id: 0x[^\\]]*\\]|\\b\\w+@[0-9a-f]{4,}\\b|\\b[A-Z]\\w*Context\\([^()]*\\))");

  private PlainWords() {}

  /** The JDK's long guesses about a program that could not be started. */
  private static final Pattern GUESSES =
      Pattern.compile("\\s*Possible reasons:.*?launchMechanism=FORK", Pattern.DOTALL);

  /** Returns a text as one line, without the JDK's guesses. */
  static String oneLine(String text) {
    String guessless = GUESSES.matcher(FailureText.shortened(text)).replaceAll("");
    return FailureText.oneLine(guessless).replace(" ;", ";");
  }

  private static Pattern alone(String type) {
    return Pattern.compile("(?<![\\w$])(?:[a-z]\\w*\\.)*" + type + ": (\\S+)$");
  }

  /**
   * Returns a failure and its causes without the types of exceptions and the internals of
   * libraries. It omits a cause that repeats an earlier one.
   *
   * @param line one line, with {@code "; caused by "} before each cause
   * @return one line that is never blank
   */
  static String of(String line) {
    List<String> said = new ArrayList<>();
    for (String part : FailureText.shortened(line).split(Pattern.quote(AND_CAUSE))) {
      String words = INSIDE.matcher(TYPE.matcher(byType(part)).replaceAll("")).replaceAll("");
      String text = SCOPE.matcher(words).replaceAll("").strip();
      if (!text.isEmpty() && said.stream().noneMatch(each -> each.contains(text))) {
        said.removeIf(text::contains);
        said.add(text);
      }
    }
    return said.isEmpty()
        ? "a defect of the program (%s)".formatted(FailureText.shortened(line.strip()))
        : String.join(": ", said);
  }

  private static String byType(String part) {
    String words = NO_PROGRAM.matcher(part).replaceAll("the program $1 is not installed");
    for (Map.Entry<Pattern, String> each : BY_TYPE.entrySet()) {
      words = each.getKey().matcher(words).replaceAll(each.getValue());
    }
    return words;
  }
}
