package dev.polis.logtree;

import org.osgi.annotation.versioning.ProviderType;

/**
 * Appends leveled entries to the journal of one distinguished name. It is safe for use by any
 * thread, and no argument makes it throw.
 *
 * <p>A format is one of {@link String#format} ({@code %s}, {@code %d}, ...); without arguments it
 * stays unchanged, with its percent signs. If the last argument is a {@link Throwable} that no
 * placeholder takes, its stack trace follows the message. It prints no {@link Secret}, private or
 * secret key, byte or char array, also not inside an array, collection, map or Optional.
 */
@ProviderType
public interface Log {
  /** Returns the name of the journal. */
  String dn();

  /** Logs with the given severity. */
  void log(Severity severity, String format, Object... arguments);

  /** Logs normal operation. */
  void info(String format, Object... arguments);

  /** Logs an unusual event that was handled. */
  void warning(String format, Object... arguments);

  /** Logs that an operation failed. */
  void error(String format, Object... arguments);

  /** Logs that the organ cannot continue, without ending it. */
  void fatal(String format, Object... arguments);

  /** Returns a log that appends only while the verbosity of this journal is at least {@code n}. */
  Log v(int n);

  /** Returns whether this log appends now: always, except for a log from {@link #v}. */
  boolean enabled();

  /**
   * Returns a log that records the place {@code added} stack frames further out, for helpers that
   * log for their caller. A log made by {@link #here} keeps its place.
   */
  Log withAddedStackDepth(int added);

  /**
   * Returns a log that records the place of this very call with each entry. It looks up the place
   * once instead of for each entry, which is the slowest step. It serves code that logs in a loop
   * or for each call from outside.
   */
  Log here();
}
