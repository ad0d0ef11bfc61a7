package dev.polis.logtree;

import org.osgi.annotation.versioning.ProviderType;

/**
 * Appends leveled entries to the journal of one distinguished name. Safe for use by any thread, and
 * never throws because of what it is given to log.
 *
 * <p>A format is one of {@link String#format} ({@code %s}, {@code %d}, ...); without arguments it
 * is taken as it is, percent signs included. If the last argument is a {@link Throwable} that no
 * placeholder takes, its stack trace follows the message. {@link Secret}s, private and secret keys,
 * byte and char arrays are not printed, wherever in an array, collection, map or Optional they are.
 */
@ProviderType
public interface Log {
  /** Returns the name of the journal. */
  String dn();

  /** Logs with the given severity. */
  void log(Severity severity, String format, Object... arguments);

  /** Logs normal operation. */
  void info(String format, Object... arguments);

  /** Logs what is unusual, but handled. */
  void warning(String format, Object... arguments);

  /** Logs that an operation failed. */
  void error(String format, Object... arguments);

  /** Logs that the organ cannot continue. It does not end anything. */
  void fatal(String format, Object... arguments);

  /** Returns a log that appends only while the verbosity of this journal is at least {@code n}. */
  Log v(int n);

  /** Returns whether this log appends at present: always, but for one made by {@link #v}. */
  boolean enabled();

  /**
   * Returns a log that records the place {@code added} stack frames further out, for helpers that
   * log on behalf of their caller. A log made by {@link #here} keeps its place.
   */
  Log withAddedStackDepth(int added);

  /**
   * Returns a log that records the place of this very call with each entry. The place is looked for
   * once instead of once an entry, which takes longer than all else: for what logs with the
   * frequency of a loop or of calls from outside.
   */
  Log here();
}
