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
  /** Longer chains repeat themselves, and a chain may be a circle. */
  private static final int LONGEST_CHAIN = 16;

  private Failures() {}

  private static Stream<Throwable> chain(Throwable failure) {
    return Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
        .limit(LONGEST_CHAIN);
  }

  /**
   * Returns whether a failure of a cancelled runnable is nothing but its cancellation, however
   * wrapped.
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
   * Returns whether a failure is a defect of the code, so that its stack trace is worth printing,
   * or comes of one. An unchecked exception of a type of its own, such as {@code
   * ConsensusException}, is meant for people and says what is wrong; one of Java's own was not
   * foreseen.
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
