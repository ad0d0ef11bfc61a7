package dev.polis.base.posix;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** Reads files of the kernel that go with what they tell of. */
public final class KernelFiles {

  private KernelFiles() {}

  /**
   * Reads a file below {@code /sys} or {@code /proc}. The device or process that it tells of may
   * end at any time. Then there is no such file, or the kernel fails the call that opens or reads
   * it with {@code ENODEV} or {@code ESRCH}.
   *
   * @return its text; empty if the file is gone
   * @throws IOException if it cannot be read for another reason
   */
  public static Optional<String> read(Path file) throws IOException {
    return read(file, StandardCharsets.UTF_8);
  }

  /** Reads a file as {@link #read(Path)} does, whose text has this encoding. */
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
