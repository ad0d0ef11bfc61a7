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
 * Selects the owner of a child and its files: the child's account if the node is root and no
 * obstacle exists, else the node's own user. Each start decides again, so files change their owner
 * in both directions.
 *
 * @param account for {@link ProcessSpec#withAccount}; empty for the node's own user
 * @param files the account number of its files; negative if the node is not root and gives none
 *     away
 * @param obstacle the reason why the child runs as root instead of its account, as a clause; empty
 *     if it does not
 * @param remedy the command that takes the obstacle away; empty if there is none
 */
public record ChildOwner(String account, int files, String obstacle, String remedy) {

  private static final int ROOT = 0;
  private static final int NOBODY = -1;

  /**
   * Finds the owner of a child.
   *
   * @param account the preferred account
   * @param program the program of the child
   * @param folder the folder of its files, which other accounts may pass through
   * @param writes whether the child makes files there
   * @throws ProcessException if the owner cannot be determined
   */
  public static ChildOwner of(Account account, Path program, Path folder, boolean writes)
      throws InterruptedException {
    if (!RunAs.isRoot()) {
      return new ChildOwner("", NOBODY, "", "");
    }
    return obstacle(account, program, folder, writes)
        .map(each -> new ChildOwner("", ROOT, each.text(), each.remedy()))
        .orElseGet(() -> new ChildOwner(account.text(), account.number(), "", ""));
  }

  private static Optional<RunAs.Obstacle> obstacle(
      Account account, Path program, Path folder, boolean writes) throws InterruptedException {
    if (writes && isServedByProgram(folder)) {
      // gocryptfs 2.3 creates a file under the account of the caller. For a moment one of its
      // threads works under that account and also serves others, so both sometimes fail.
      return Optional.of(
          new RunAs.Obstacle(
              "%s is on a file system of user space, on which several accounts cannot make files"
                  .formatted(folder),
              ""));
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

  /** Returns whether the child runs as root against the node's preference. */
  public boolean isHeldBack() {
    return !obstacle.isEmpty();
  }

  /**
   * Returns the command that runs another one as this owner, and lets it listen at ports below
   * 1024.
   */
  public List<String> listeningCommand(List<String> command) throws InterruptedException {
    return RunAs.capableCommand(account, RunAs.LISTEN, command);
  }

  /** Returns the command that runs another one as this owner, and lets it set the clock. */
  public List<String> clockCommand(List<String> command) throws InterruptedException {
    return RunAs.capableCommand(account, RunAs.SET_CLOCK, command);
  }

  /** Gives the owner a file to read, now and after each later write. */
  public void give(FilePlacement file) throws FileException {
    if (files != NOBODY) {
      file.giveTo(files);
    }
  }

  /**
   * Gives the owner a directory in which it makes files. It first ends a child of another owner
   * that uses the directory, since that child would make more files there.
   *
   * @param child the name of the process
   */
  public void give(DirectoryPlacement directory, ProcessManager processes, String child)
      throws FileException, InterruptedException {
    if (files != NOBODY && !directory.isOf(files)) {
      processes.stop(child);
      directory.giveTo(files);
    }
  }
}
