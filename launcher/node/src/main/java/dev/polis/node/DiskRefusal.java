package dev.polis.node;

import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException.Problem;
import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Adds the place and the remedy to a failed write, if the disk is full or read-only. What writes
 * for the launcher, the framework and its services too, knows only what the system said.
 */
final class DiskRefusal {

  /** A disk with less room counts as full: one file of the launcher needs more. */
  private static final long FULL_BYTES = 64 << 10;

  private final NodeDirectory directory;

  DiskRefusal(NodeDirectory directory) {
    this.directory = directory;
  }

  /**
   * Returns the refusal for a failure that comes of the disk, and any other failure as it is.
   *
   * @param failure which may have the failure of a write among its causes
   */
  <E extends Exception> Exception of(E failure) {
    Problem problem = DiskTrouble.of(failure);
    return switch (problem) {
      case FULL -> refusal(fullPlace(failure), "is full", problem, failure);
      case READ_ONLY -> refusal(place(failure), "is mounted read-only", problem, failure);
      default -> failure;
    };
  }

  private static Refusal refusal(Path place, String trouble, Problem problem, Exception cause) {
    return new Refusal(
        Exit.FAILED,
        "%s can not be written, its file system %s; %s and start the node again"
            .formatted(place, trouble, DiskTrouble.remedy(problem)),
        cause);
  }

  private Path place(Exception failure) {
    return DiskTrouble.place(failure).orElse(directory.root());
  }

  /**
   * Finds the full file system: the system does not say where a write into an open file had no
   * room.
   */
  private Path fullPlace(Exception write) {
    Path named = place(write);
    if (!named.equals(directory.root())) {
      return named;
    }
    return List.of(directory.home().getParent(), directory.plugins(), directory.root()).stream()
        .filter(DiskRefusal::isFull)
        .findFirst()
        .orElse(named);
  }

  private static boolean isFull(Path folder) {
    try {
      return Files.getFileStore(folder).getUsableSpace() < FULL_BYTES;
    } catch (IOException unknown) {
      return false;
    }
  }
}
