package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.Locale;

/** Formats time spans for people. */
final class Spans {
  private static final long MILLIS_OF_SECOND = 1000;

  private Spans() {}

  /** Returns milliseconds below a second, else seconds with one digit. */
  static String text(Duration span) {
    return span.toMillis() < MILLIS_OF_SECOND
        ? span.toMillis() + " ms"
        : String.format(Locale.ROOT, "%.1f s", span.toMillis() / (double) MILLIS_OF_SECOND);
  }
}
