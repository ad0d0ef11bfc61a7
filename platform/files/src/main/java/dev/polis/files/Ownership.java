package dev.polis.files;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** Gives files to accounts of the machine, by their numbers. Symbolic links are not followed. */
final class Ownership {

  private Ownership() {}

  /** Returns whether a file belongs to an account, and to the group of the same number. */
  static boolean isOf(Path path, int account) throws IOException {
    return attribute(path, "unix:uid") == account && attribute(path, "unix:gid") == account;
  }

  /** Gives a file or directory to an account, unless it has it already. */
  static void give(Path path, int account) throws IOException {
    if (!isOf(path, account)) {
      Files.setAttribute(path, "unix:gid", account, LinkOption.NOFOLLOW_LINKS);
      Files.setAttribute(path, "unix:uid", account, LinkOption.NOFOLLOW_LINKS);
    }
  }

  /**
   * Gives a directory with its files and directories to an account, itself last: as long as it is
   * another's, not all has been given. A file that has another name is left: where the kernel lets
   * anybody make such names, it may be a file of another's.
   */
  static void giveTree(Path top, int account) throws IOException {
    Files.walkFileTree(
        top,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            if (attributes.isRegularFile() && attribute(file, "unix:nlink") == 1) {
              give(file, account);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, IOException failure)
              throws IOException {
            FileVisitResult next = super.postVisitDirectory(directory, failure);
            give(directory, account);
            return next;
          }
        });
  }

  private static int attribute(Path path, String name) throws IOException {
    return (int) Files.getAttribute(path, name, LinkOption.NOFOLLOW_LINKS);
  }
}
