package dev.polis.base.boot;

import java.util.ArrayList;
import java.util.List;

/**
 * Finds the root cause in a stack trace, the form in which Declarative Services report a failure.
 */
public final class FailureText {
  private static final String CAUSED_BY = "Caused by: ";

  /** The package prefix of the project's own exceptions. */
  private static final String OURS = "dev.polis.";

  private FailureText() {}

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
