package dev.polis.files;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Reports a change that was made, but that the disk did not confirm: until the next loss of power
 * every reader sees it, afterwards it may be undone.
 */
public final class UnforcedException extends IOException {

  private static final long serialVersionUID = 1L;

  /**
   * @param changed what was made, replaced or removed
   * @param cause why it could not be forced to the disk
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
