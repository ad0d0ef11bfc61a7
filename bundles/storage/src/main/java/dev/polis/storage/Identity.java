package dev.polis.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** As whom this process runs. */
final class Identity {

  private static final Path SELF = Path.of("/proc/self");

  private Identity() {}

  /** Whether the effective user is root. */
  static boolean root() {
    try {
      // The owner of /proc/self is the effective user, unlike the user name of the environment.
      return ((Integer) Files.getAttribute(SELF, "unix:uid")) == 0;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot look at " + SELF + "; mount /proc", e);
    }
  }
}
