package dev.polis.files;

import java.io.IOException;
import java.util.Objects;

/**
 * Reports that a file or directory could not be used: what was wrong, where, and what to do next,
 * which is {@link #remedy()} and the end of the message.
 */
public class FileException extends IOException {

  private static final long serialVersionUID = 1L;

  /** What kind of trouble it is, for callers that act on it. */
  public enum Problem {
    /** What was asked for is not there. */
    ABSENT,
    /** The content is not what this program wrote. */
    CORRUPTED,
    /** The operating system did not let us. */
    DENIED,
    /** The file system is mounted read-only. */
    READ_ONLY,
    /** The file system has no room. */
    FULL,
    /** Something is there already that must not be overwritten. */
    OCCUPIED,
    /** The device or file system failed. */
    IO,
    /** The disk is in order; the caller refuses, and says why by a type of its own. */
    REFUSED
  }

  private final Problem problem;
  private final String remedy;

  /**
   * @param what what was wrong and where, with the offending value
   * @param remedy what to do next, one sentence
   */
  public FileException(Problem problem, String what, String remedy) {
    this(problem, what, remedy, null);
  }

  /**
   * @param what what was wrong and where, with the offending value
   * @param remedy what to do next, one sentence
   * @param cause what lies beneath, or null
   */
  public FileException(Problem problem, String what, String remedy, Throwable cause) {
    super(what + "; " + remedy, cause);
    this.problem = Objects.requireNonNull(problem);
    this.remedy = Objects.requireNonNull(remedy);
  }

  /** Returns what kind of trouble it is. */
  public final Problem problem() {
    return problem;
  }

  /** Returns what to do next. */
  public final String remedy() {
    return remedy;
  }
}
