package dev.polis.plugins.swap;

import dev.polis.base.boot.FailureText;

/** Describes the root cause of a failure in one line. */
final class RootCauses {
  private RootCauses() {}

  /** Returns the innermost cause: its message if that is a sentence, else with its type. */
  static String of(Throwable failure) {
    String text = failure.toString();
    for (Throwable at : FailureText.causes(failure)) {
      String message = at.getMessage();
      // A message without a space, such as a file name, needs its type.
      text = message != null && message.contains(" ") ? message : at.toString();
    }
    return FailureText.oneLine(text);
  }
}
