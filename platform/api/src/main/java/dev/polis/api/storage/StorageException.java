package dev.polis.api.storage;

import java.io.IOException;
import java.util.Objects;

/**
 * A refusal or a failure of storage. The message says what was wrong and where; {@link #remedy()}
 * what to do next, and is part of {@link #getMessage()}.
 */
public final class StorageException extends IOException {

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
    /** The device or file system failed. */
    IO,
    /**
     * This machine cannot give what was asked for: a tool, a permission or a kernel feature is
     * missing.
     */
    UNSUPPORTED,
    /** The keys have the wrong shape. */
    BAD_KEY,
    /** The keys are well formed, but do not open this volume. */
    WRONG_KEY,
    /** Something is there already that must not be overwritten. */
    OCCUPIED,
    /** The state belongs to another node or another mode. */
    FOREIGN
  }

  private final Problem problem;
  private final String remedy;

  /**
   * @param what what was wrong and where, with the offending value
   * @param remedy what to do next, one sentence
   */
  public StorageException(Problem problem, String what, String remedy) {
    this(problem, what, remedy, null);
  }

  /**
   * @param what what was wrong and where, with the offending value
   * @param remedy what to do next, one sentence
   * @param cause what lies beneath, or null
   */
  public StorageException(Problem problem, String what, String remedy, Throwable cause) {
    super(what + "; " + remedy, cause);
    this.problem = Objects.requireNonNull(problem);
    this.remedy = Objects.requireNonNull(remedy);
  }

  /** What kind of trouble it is. */
  public Problem problem() {
    return problem;
  }

  /** What to do next. */
  public String remedy() {
    return remedy;
  }
}
