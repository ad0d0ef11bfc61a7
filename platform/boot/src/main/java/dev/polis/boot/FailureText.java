package dev.polis.boot;

import java.util.List;

/** Finds the root cause in a stack trace, which is how Declarative Services report a failure. */
public final class FailureText {
  private static final String CAUSED_BY = "Caused by: ";

  private FailureText() {}

  /** Returns the message of the innermost cause: its lines up to the first of the stack. */
  public static String rootCause(String trace) {
    List<String> lines = trace.lines().toList();
    int begin = 0;
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith(CAUSED_BY)) {
        begin = i;
      }
    }
    StringBuilder reason = new StringBuilder();
    for (int i = begin; i < lines.size() && !lines.get(i).startsWith("\tat "); i++) {
      reason.append(i == begin ? "" : " ").append(lines.get(i).strip());
    }
    String text = reason.toString().replaceFirst("^" + CAUSED_BY, "");
    return text.replaceFirst("^[\\w.$]+(?:Exception|Error): (?=.* )", "");
  }
}
