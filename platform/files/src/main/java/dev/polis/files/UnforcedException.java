package dev.polis.files;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Reports a change that the disk did not confirm: readers see it, but a loss of power may undo it.
 */
public final class UnforcedException extends IOException {

  private static final long serialVersionUID = 1L;

  /**
   * @param changed the file that was made, replaced or removed
   * @param cause the failure of the force
   */
  public UnforcedException(Path changed, IOException cause) {
    super(
        "the change of "
            + changed
            + " was made, but could not be forced to the disk: "
            + cause.getMessage(),
        cause);
  }
}
