package dev.polis.node;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** Finds what really went wrong. */
final class RootCause {
  private RootCause() {}

  /**
   * @param error any
   * @return the message of the innermost cause, with its type unless the message speaks for itself;
   *     one line
   */
  static String of(Throwable error) {
    Throwable cause = error;
    Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    while (cause.getCause() != null && seen.add(cause)) {
      cause = cause.getCause();
    }
    String message = cause.getMessage();
    // A message with a space is a sentence; "/etc/x" of a NoSuchFileException alone says nothing.
    boolean speaks = message != null && message.strip().contains(" ");
    String text =
        speaks
            ? message
            : cause.getClass().getSimpleName() + (message == null ? "" : ": " + message);
    return text.strip().replaceAll("\\s*\\R\\s*", " ");
  }
}
