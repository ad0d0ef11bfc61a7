package dev.polis.files;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Gives files to accounts of the machine, by their numbers. It follows no symbolic link, and skips
 * a file with a second hard link: where the kernel lets each user make such links, it may be a file
 * of another user.
 */
final class Ownership {

  /** The account number of root, which alone can give files away. */
  private static final int ROOT = 0;

  private static final Step NOTHING = path -> {};

  /** Is one action on a file or a directory of a tree. */
  @FunctionalInterface
  private interface Step {
    void take(Path path) throws IOException;
  }

  private Ownership() {}

  /** Gives a file or directory to an account, and to the group of the same number. */
  static void give(Path path, int account) throws IOException {
    if (!isOf(path, account)) {
      Files.setAttribute(path, "unix:gid", account, LinkOption.NOFOLLOW_LINKS);
      Files.setAttribute(path, "unix:uid", account, LinkOption.NOFOLLOW_LINKS);
    }
  }

  /** Returns whether a directory and its content belong to an account. */
  static boolean isTreeOf(Path top, int account) throws IOException {
    AtomicBoolean all = new AtomicBoolean(true);
    Step look =
        path -> {
          if (!isOf(path, account)) {
            all.set(false);
          }
        };
    walk(top, look, look, NOTHING);
    return all.get();
  }

  /**
   * Gives a directory and its content to an account. The former owner may still run and put links
   * into it. So from the top down this method locks each directory before it reads the content;
   * then it gives all entries away from the bottom up, without another read.
   */
  static void giveTree(Path top, int account) throws IOException {
    walk(top, Ownership::takeAway, NOTHING, NOTHING);
    walk(top, NOTHING, path -> give(path, account), path -> give(path, account));
  }

  private static void takeAway(Path directory) throws IOException {
    give(directory, ROOT);
    Set<PosixFilePermission> permissions =
        EnumSet.copyOf(Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS));
    if (permissions.removeAll(
        Set.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE))) {
      Files.setPosixFilePermissions(directory, permissions);
    }
  }

  private static void walk(Path top, Step entering, Step file, Step leaving) throws IOException {
    Files.walkFileTree(
        top,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes)
              throws IOException {
            entering.take(path);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path path, BasicFileAttributes attributes)
              throws IOException {
            try {
              if (attributes.isRegularFile() && attribute(path, "unix:nlink") == 1) {
                file.take(path);
              }
              return FileVisitResult.CONTINUE;
            } catch (NoSuchFileException gone) {
              return visitFileFailed(path, gone);
            }
          }

          @Override
          public FileVisitResult visitFileFailed(Path path, IOException failure)
              throws IOException {
            // In the folder of a running program, files come and go.
            return failure instanceof NoSuchFileException && !path.equals(top)
                ? FileVisitResult.CONTINUE
                : super.visitFileFailed(path, failure);
          }

          @Override
          public FileVisitResult postVisitDirectory(Path path, IOException failure)
              throws IOException {
            FileVisitResult next = super.postVisitDirectory(path, failure);
            leaving.take(path);
            return next;
          }
        });
  }

  /**
   * Returns whether a file or directory belongs to an account and to the group of the same number.
   */
  static boolean isOf(Path path, int account) throws IOException {
    return attribute(path, "unix:uid") == account && attribute(path, "unix:gid") == account;
  }

  private static int attribute(Path path, String name) throws IOException {
    return (int) Files.getAttribute(path, name, LinkOption.NOFOLLOW_LINKS);
  }
}
