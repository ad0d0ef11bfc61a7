package dev.polis.containers;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;

/** Checks whether this process may lower OOM scores, which containers request. */
final class OomScores {

  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String EFFECTIVE = "CapEff:";
  private static final int HEXADECIMAL = 16;

  /** The bit of CAP_SYS_RESOURCE, from linux/capability.h. */
  private static final int CAP_SYS_RESOURCE = 24;

  private OomScores() {}

  /**
   * Returns whether containerd must keep OOM scores within the kernel's limit.
   *
   * @param setting yes, no, or auto
   */
  static boolean restricted(String setting) throws IOException {
    return switch (setting) {
      case "yes" -> true;
      case "no" -> false;
      default -> !hasCapability(Files.readString(STATUS));
    };
  }

  static boolean hasCapability(String status) {
    return status
        .lines()
        .filter(line -> line.startsWith(EFFECTIVE))
        .map(line -> new BigInteger(line.substring(EFFECTIVE.length()).strip(), HEXADECIMAL))
        .anyMatch(capabilities -> capabilities.testBit(CAP_SYS_RESOURCE));
  }
}
