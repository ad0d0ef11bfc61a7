package dev.polis.posix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** Reads files of the kernel that go with what they tell of. */
public final class KernelFiles {

  private KernelFiles() {}

  /**
   * Reads a file below {@code /sys}. What it tells of may go at any time: then the file is not
   * there, or the kernel fails its opening or reading with {@code ENODEV}, "No such device"; a file
   * of the same name may be there again by then.
   *
   * @return its text; empty if the file is gone
   * @throws IOException if it is there and cannot be read
   */
  public static Optional<String> read(Path file) throws IOException {
    try {
      return Optional.of(Files.readString(file));
    } catch (NoSuchFileException gone) {
      return Optional.empty();
    } catch (IOException e) {
      if (Errno.of(e) == Errno.ENODEV) {
        return Optional.empty();
      }
      throw e;
    }
  }
}
