package dev.polis.supervision;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Classifies exceptions and describes them in one line. */
final class Failures {
  /**
   * The longest followed chain of causes; longer chains repeat themselves, and a chain may be a
   * circle.
   */
  private static final int LONGEST_CHAIN = 16;

  private Failures() {}

  private static Stream<Throwable> chain(Throwable failure) {
    return Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
        .limit(LONGEST_CHAIN);
  }

  /**
   * Returns whether a failure of a cancelled runnable only reports the cancellation, in any
   * wrapper.
   */
  static boolean isCancellation(Throwable failure) {
    return chain(failure)
        .anyMatch(
            cause ->
                cause instanceof InterruptedException
                    || cause instanceof RestartRequest
                    || cause instanceof CancellationException
                    || cause instanceof ClosedByInterruptException
                    || cause instanceof InterruptedIOException);
  }

  /**
   * Returns whether a failure is a defect of the code, or comes from one, so that the log needs its
   * stack trace. An unchecked exception of the project's own types, such as {@code
   * ConsensusException}, has a message for people; one of Java's own is unforeseen.
   */
  static boolean isPanic(Throwable failure) {
    return chain(failure).anyMatch(Failures::isDefect);
  }

  private static boolean isDefect(Throwable failure) {
    if (failure instanceof Error) {
      return true;
    }
    if (!(failure instanceof RuntimeException)
        || failure instanceof UncheckedIOException
        || failure instanceof CompletionException) {
      return false;
    }
    Class<?> ofJava = failure.getClass();
    while (ofJava.getClassLoader() != null) {
      ofJava = ofJava.getSuperclass();
    }
    return ofJava != RuntimeException.class || ofJava == failure.getClass();
  }

  /** Returns the failure and its causes in one line. */
  static String line(Throwable failure) {
    return chain(failure).map(Failures::one).collect(Collectors.joining("; caused by "));
  }

  private static String one(Throwable failure) {
    String type = failure.getClass().getSimpleName();
    String name = type.isEmpty() ? failure.getClass().getName() : type;
    String message = failure.getMessage();
    return message == null || message.isBlank()
        ? name
        : name + ": " + message.strip().replace('\n', ' ');
  }
}
