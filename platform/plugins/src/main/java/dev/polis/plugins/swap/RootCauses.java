package dev.polis.plugins.swap;

import dev.polis.base.boot.FailureText;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** Describes the root cause of a failure in one line. */
final class RootCauses {
  private RootCauses() {}

  /** Returns the innermost cause: its message if that is a sentence, else with its type. */
  static String of(Throwable failure) {
    Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    String text = failure.toString();
    for (Throwable at = failure; at != null && seen.add(at); at = at.getCause()) {
      String message = at.getMessage();
      // A message without a space, such as a file name, needs its type.
      text = message != null && message.contains(" ") ? message : at.toString();
    }
    return FailureText.oneLine(text);
  }
}
