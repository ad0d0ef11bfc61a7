package dev.polis.api.storage;

import dev.polis.files.FileException;
import java.util.Objects;

/**
 * Reports a refusal of storage: this machine or these keys cannot fulfil the request. A fault of
 * the disk itself is a plain {@link FileException}.
 */
public final class StorageException extends FileException {

  private static final long serialVersionUID = 1L;

  /** Lists the reasons of a refusal, for callers that act on them. */
  public enum Refusal {
    /** This machine lacks a tool, a permission or a kernel feature. */
    UNSUPPORTED,
    /** The keys have the wrong shape. */
    BAD_KEY,
    /** The keys are well formed, but do not open this volume. */
    WRONG_KEY,
    /** The volume or file belongs to another node or another mode. */
    FOREIGN
  }

  private final Refusal refusal;

  /**
   * @param what the fault and its place, with the offending value
   * @param remedy the remedy in one sentence
   */
  public StorageException(Refusal refusal, String what, String remedy) {
    this(refusal, what, remedy, null);
  }

  /**
   * @param what the fault and its place, with the offending value
   * @param remedy the remedy in one sentence
   * @param cause the cause, or null
   */
  public StorageException(Refusal refusal, String what, String remedy, Throwable cause) {
    super(Problem.REFUSED, what, remedy, cause);
    this.refusal = Objects.requireNonNull(refusal);
  }

  public Refusal refusal() {
    return refusal;
  }
}
