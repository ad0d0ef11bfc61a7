package dev.polis.api.storage;

import dev.polis.files.FileException;
import java.util.Objects;

/**
 * Reports that storage refuses: this machine or these keys cannot give what was asked for. Trouble
 * with the disk itself is a plain {@link FileException}.
 */
public final class StorageException extends FileException {

  private static final long serialVersionUID = 1L;

  /** Why it refuses, for callers that act on it. */
  public enum Refusal {
    /**
     * This machine cannot give what was asked for: a tool, a permission or a kernel feature is
     * missing.
     */
    UNSUPPORTED,
    /** The keys have the wrong shape. */
    BAD_KEY,
    /** The keys are well formed, but do not open this volume. */
    WRONG_KEY,
    /** The state belongs to another node or another mode. */
    FOREIGN
  }

  private final Refusal refusal;

  /**
   * @param what what was wrong and where, with the offending value
   * @param remedy what to do next, one sentence
   */
  public StorageException(Refusal refusal, String what, String remedy) {
    this(refusal, what, remedy, null);
  }

  /**
   * @param what what was wrong and where, with the offending value
   * @param remedy what to do next, one sentence
   * @param cause what lies beneath, or null
   */
  public StorageException(Refusal refusal, String what, String remedy, Throwable cause) {
    super(Problem.REFUSED, what, remedy, cause);
    this.refusal = Objects.requireNonNull(refusal);
  }

  /** Returns why storage refuses. */
  public Refusal refusal() {
    return refusal;
  }
}
