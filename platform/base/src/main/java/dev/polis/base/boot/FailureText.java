package dev.polis.base.boot;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes short texts of failures, also of stack traces, the form in which Declarative Services
 * report a failure.
 */
public final class FailureText {
  private static final String CAUSED_BY = "Caused by: ";

  /** The package prefix of the project's own exceptions. */
  private static final String OURS = "dev.polis.";

  /** The most characters of a text: more than a person reads, and little memory in each place. */
  private static final int LONGEST = 2000;

  /**
   * The most followed causes of a failure. A longer chain repeats itself: a cause may lead back to
   * one before it, and a foreign exception may make a new cause for each call.
   */
  private static final int MOST_CAUSES = 100;

  private static final String CUT = "…";
  private static final Pattern LINE_END = Pattern.compile("\\R");

  private FailureText() {}

  /**
   * Cuts a text of any length after some 2,000 characters, since a plugin may write any.
   *
   * @param text the text
   * @return the text, or its begin with "…" at the cut
   */
  public static String shortened(String text) {
    if (text.length() <= LONGEST) {
      return text;
    }
    int end = LONGEST - CUT.length();
    return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + CUT;
  }

  /**
   * Joins the lines of a text, and cuts it like {@link #shortened}.
   *
   * @param text the text
   * @return one line without blanks around it
   */
  public static String oneLine(String text) {
    // Not one pattern of blanks and a line end, which takes quadratic time for many blanks.
    return LINE_END
        .splitAsStream(shortened(text))
        .map(String::strip)
        .filter(line -> !line.isEmpty())
        .collect(Collectors.joining(" "));
  }

  /**
   * Returns a failure and its causes, the innermost last; at most 100, so that a chain without an
   * end ends too.
   *
   * @param failure the failure
   * @return at least the failure itself
   */
  public static List<Throwable> causes(Throwable failure) {
    return Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
        .limit(MOST_CAUSES)
        .toList();
  }

  /**
   * Returns the message of the innermost cause, preferably of the project's own exceptions: they
   * name the remedy, while a system error below may be a bare path. The result has one line, and
   * lacks the type of the exception if the message is a sentence.
   */
  public static String rootCause(String trace) {
    List<String> causes = causes(trace.lines().toList());
    return causes.reversed().stream()
        .filter(cause -> cause.startsWith(OURS) && !plain(cause).equals(cause))
        .findFirst()
        .map(FailureText::plain)
        .orElseGet(() -> plain(causes.getLast()));
  }

  /** Returns type and message of the failure and of each cause below it, the innermost last. */
  private static List<String> causes(List<String> lines) {
    List<String> causes = new ArrayList<>();
    StringBuilder cause = new StringBuilder();
    boolean ofStack = false;
    for (String line : lines) {
      if (line.startsWith(CAUSED_BY)) {
        causes.add(cause.toString());
        cause.setLength(0);
        cause.append(line.substring(CAUSED_BY.length()));
        ofStack = false;
      } else if (line.startsWith("\t")) {
        ofStack = true;
      } else if (!ofStack) {
        cause.append(cause.isEmpty() ? "" : " ").append(line.strip());
      }
    }
    causes.add(cause.toString());
    return causes;
  }

  private static String plain(String cause) {
    return cause.replaceFirst("^[\\w.$]+(?:Exception|Error): (?=.* )", "");
  }
}
