package dev.polis.base.posix;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** Reads kernel files that may disappear at any time. */
public final class KernelFiles {

  private KernelFiles() {}

  /**
   * Reads a file below {@code /sys} or {@code /proc}. The device or process of the file may end at
   * any time. Then the file is missing, or its open or read fails with {@code ENODEV} or {@code
   * ESRCH}.
   *
   * @return its text; empty if the file is gone
   * @throws IOException if it cannot be read for another reason
   */
  public static Optional<String> read(Path file) throws IOException {
    return read(file, StandardCharsets.UTF_8);
  }

  /** Reads a file in this encoding, as {@link #read(Path)} does. */
  static Optional<String> read(Path file, Charset encoding) throws IOException {
    try {
      return Optional.of(Files.readString(file, encoding));
    } catch (NoSuchFileException gone) {
      return Optional.empty();
    } catch (IOException e) {
      return switch (Errno.of(e)) {
        case ENODEV, ESRCH -> Optional.empty();
        default -> throw e;
      };
    }
  }
}
