package dev.polis.files;

import java.io.IOException;
import java.util.Objects;

/**
 * Reports a failed use of a file or directory: the fault, the place and the remedy. {@link
 * #remedy()} is also the end of the message.
 */
public class FileException extends IOException {

  private static final long serialVersionUID = 1L;

  /** Lists the kinds of fault, for callers that act on them. */
  public enum Problem {
    /** The file or directory does not exist. */
    ABSENT,
    /** The content differs from what this program wrote. */
    CORRUPTED,
    /** The operating system denied the access. */
    DENIED,
    /** The file system is mounted read-only. */
    READ_ONLY,
    /** The file system is full. */
    FULL,
    /** The place has content that must not be overwritten. */
    OCCUPIED,
    /** The device or file system failed. */
    IO,
    /** The disk is fine; the caller refuses, with an exception type of its own. */
    REFUSED
  }

  private final Problem problem;
  private final String remedy;

  /**
   * @param what the fault and its place, with the offending value
   * @param remedy the remedy in one sentence
   */
  public FileException(Problem problem, String what, String remedy) {
    this(problem, what, remedy, null);
  }

  /**
   * @param what the fault and its place, with the offending value
   * @param remedy the remedy in one sentence
   * @param cause the cause, or null
   */
  public FileException(Problem problem, String what, String remedy, Throwable cause) {
    super(what + "; " + remedy, cause);
    this.problem = Objects.requireNonNull(problem);
    this.remedy = Objects.requireNonNull(remedy);
  }

  /** Returns the kind of fault. */
  public final Problem problem() {
    return problem;
  }

  /** Returns the remedy. */
  public final String remedy() {
    return remedy;
  }
}
