package dev.polis.plugins.swap;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** Finds in one line why something failed. */
final class RootCauses {
  private RootCauses() {}

  /** Returns the message of the innermost cause that has one that says something. */
  static String of(Throwable failure) {
    Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    String text = failure.toString();
    for (Throwable at = failure; at != null && seen.add(at); at = at.getCause()) {
      String message = at.getMessage();
      // A message without a space, such as a file's name alone, says nothing without its type.
      text = message != null && message.contains(" ") ? message : at.toString();
    }
    return text.strip().replaceAll("\\s*\\R\\s*", " ");
  }
}
