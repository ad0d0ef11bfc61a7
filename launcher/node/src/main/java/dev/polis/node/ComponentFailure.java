package dev.polis.node;

import java.util.List;

/**
 * Reports that a component could not be activated. Declarative Services give the failure as the
 * text of a stack trace; its root cause becomes the message.
 */
final class ComponentFailure extends Exception {
  private static final long serialVersionUID = 1;
  private static final String CAUSED_BY = "Caused by: ";

  private final String trace;

  ComponentFailure(ComponentDiagnosis.Failed failed) {
    super(reason(failed.failure()));
    this.trace = failed.component() + " could not be activated: " + failed.failure();
    setStackTrace(new StackTraceElement[0]);
  }

  @Override
  public String toString() {
    return trace;
  }

  /** Returns the message of the innermost cause: its lines up to the first of the stack. */
  private static String reason(String trace) {
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
