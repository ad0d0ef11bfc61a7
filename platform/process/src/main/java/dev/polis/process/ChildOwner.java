package dev.polis.process;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Chooses the owner of a child and its files: its account if the node is root and no obstacle
 * exists, and else the node's own user. It is found out again at each start, so files change hands
 * both ways.
 *
 * @param account for {@link ProcessSpec#withAccount}; empty for the node's own user
 * @param files whose number its files get; negative where the node is not root and gives nothing
 * @param obstacle why it is root's although the node could have given it an account, as a clause;
 *     empty if it is not
 */
public record ChildOwner(String account, int files, String obstacle) {

  private static final int ROOT = 0;
  private static final int NOBODY = -1;

  /**
   * Finds the owner of a child.
   *
   * @param account which it gets if it can
   * @param program that it runs
   * @param folder of its files, which other accounts may pass through
   * @param writes whether it makes files there
   * @throws ProcessException if it cannot be found out
   */
  public static ChildOwner of(Account account, Path program, Path folder, boolean writes)
      throws InterruptedException {
    if (!RunAs.isRoot()) {
      return new ChildOwner("", NOBODY, "");
    }
    Optional<String> obstacle = obstacle(account, program, folder, writes);
    return obstacle.isPresent()
        ? new ChildOwner("", ROOT, obstacle.get())
        : new ChildOwner(account.text(), account.number(), "");
  }

  private static Optional<String> obstacle(
      Account account, Path program, Path folder, boolean writes) throws InterruptedException {
    if (writes && isServedByProgram(folder)) {
      // gocryptfs 2.3 makes a file as the account of the caller, and one of its threads then works
      // as that account for a moment in which it also serves others: both fail now and then.
      return Optional.of(
          "%s is on a file system of user space, on which several accounts cannot make files"
              .formatted(folder));
    }
    return RunAs.obstacle(account.number(), program, folder);
  }

  private static boolean isServedByProgram(Path folder) {
    try {
      return Files.getFileStore(folder).type().startsWith("fuse");
    } catch (IOException e) {
      throw new ProcessException(
          "cannot tell the file system of %s: %s".formatted(folder, e.getMessage()), e);
    }
  }

  /** Returns whether it runs as root although the node would rather have it otherwise. */
  public boolean isHeldBack() {
    return !obstacle.isEmpty();
  }

  /** Returns the command that runs another one as it, and lets it listen at ports below 1024. */
  public List<String> listeningCommand(List<String> command) throws InterruptedException {
    return RunAs.listeningCommand(account, command);
  }

  /** Gives it a file that it reads, now and when the file is written again. */
  public void give(FilePlacement file) throws FileException {
    if (files != NOBODY) {
      file.giveTo(files);
    }
  }

  /**
   * Gives it a directory in which it makes files itself. A child of another owner that has the
   * directory is ended first, since it would make more files there.
   *
   * @param child name of the process
   */
  public void give(DirectoryPlacement directory, ProcessManager processes, String child)
      throws FileException, InterruptedException {
    if (files != NOBODY && !directory.isOf(files)) {
      processes.stop(child);
      directory.giveTo(files);
    }
  }
}
