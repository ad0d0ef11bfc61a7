package dev.polis.logtree;

/**
 * Appends entries with a known place, {@code file:line}, to a log. The build of a distribution
 * turns each call of {@link Log}'s methods of the same names into one of these; no source calls
 * them. A log from {@link Log#here} or {@link Log#withAddedStackDepth} still records its own place.
 */
public final class LogPlaces {
  private LogPlaces() {}

  /** Logs as {@link Log#log}. */
  public static void log(
      Log log, Severity severity, String format, Object[] arguments, String place) {
    if (log instanceof JournalLog journal) {
      journal.append(severity, format, arguments, place);
    } else {
      log.log(severity, format, arguments);
    }
  }

  /** Logs as {@link Log#info}. */
  public static void info(Log log, String format, Object[] arguments, String place) {
    if (log instanceof JournalLog journal) {
      journal.append(Severity.INFO, format, arguments, place);
    } else {
      log.info(format, arguments);
    }
  }

  /** Logs as {@link Log#warning}. */
  public static void warning(Log log, String format, Object[] arguments, String place) {
    if (log instanceof JournalLog journal) {
      journal.append(Severity.WARNING, format, arguments, place);
    } else {
      log.warning(format, arguments);
    }
  }

  /** Logs as {@link Log#error}. */
  public static void error(Log log, String format, Object[] arguments, String place) {
    if (log instanceof JournalLog journal) {
      journal.append(Severity.ERROR, format, arguments, place);
    } else {
      log.error(format, arguments);
    }
  }

  /** Logs as {@link Log#fatal}. */
  public static void fatal(Log log, String format, Object[] arguments, String place) {
    if (log instanceof JournalLog journal) {
      journal.append(Severity.FATAL, format, arguments, place);
    } else {
      log.fatal(format, arguments);
    }
  }
}
