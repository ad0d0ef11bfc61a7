package dev.polis.node.exit;

import dev.polis.base.boot.FailureText;
import dev.polis.files.DiskTrouble;
import java.nio.file.FileSystemException;

/** Finds what really went wrong. */
public final class RootCause {
  private RootCause() {}

  /** Begins the names of our own exceptions; bundles carry theirs in loaders of their own. */
  private static final String OURS = "dev.polis.";

  /**
   * @param error any
   * @return the message of the innermost cause of our own, which states clearly what a library's or
   *     the system's below it only hints at; of the innermost cause if none is ours. With its type
   *     unless the message speaks for itself; one line
   */
  public static String of(Throwable error) {
    Throwable cause = error;
    Throwable ours = null;
    for (Throwable at : FailureText.causes(error)) {
      cause = at;
      if (at.getClass().getName().startsWith(OURS)
          && speaks(at)
          && (ours == null || !goesOnBehind(ours, at))) {
        ours = at;
      }
    }
    cause = ours == null ? cause : ours;
    String message = cause.getMessage();
    String text = message;
    if (!speaks(cause)) {
      text =
          cause instanceof FileSystemException file && file.getReason() == null
              ? DiskTrouble.words(file)
              : cause.getClass().getSimpleName() + (message == null ? "" : ": " + message);
    }
    return FailureText.oneLine(text);
  }

  /** Returns whether a message has the one below in its middle, as what says what to do does. */
  private static boolean goesOnBehind(Throwable error, Throwable below) {
    String message = error.getMessage().strip();
    String quoted = below.getMessage().strip();
    return message.contains(quoted) && !message.endsWith(quoted);
  }

  /**
   * Decides whether a message says enough: one with a space is a sentence; "/etc/x" of a
   * NoSuchFileException alone says nothing, nor does what only repeats the cause below.
   */
  private static boolean speaks(Throwable error) {
    String message = error.getMessage();
    return message != null
        && message.strip().contains(" ")
        && (error.getCause() == null || !message.endsWith(error.getCause().toString()));
  }
}
