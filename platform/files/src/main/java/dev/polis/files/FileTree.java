package dev.polis.files;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;
import java.util.UUID;

/**
 * Deletes directories with all their content. It deletes symbolic links and never follows them.
 *
 * <p>The writer of a tree may still change it, and the tree may be deeper than the longest path. So
 * each step uses the handle of a directory and one name in it, which no link can lead elsewhere. It
 * first moves inner directories up to the top, so that at most three handles are open at any depth.
 */
public final class FileTree {

  private FileTree() {}

  /** Opens the top of a tree. */
  @FunctionalInterface
  private interface Top {
    DirectoryStream<Path> open() throws IOException;
  }

  /** Does something with a file before its deletion. */
  @FunctionalInterface
  private interface Parting {
    Parting NONE = (parent, name) -> {};

    void from(SecureDirectoryStream<Path> parent, Path name) throws IOException;
  }

  /** Deletes a file or a directory with all its content; does nothing if there is none. */
  public static void delete(Path top) throws IOException {
    delete(top, Parting.NONE);
  }

  /** Does the same, and overwrites each file first, as {@link FilePlacement#erase} does. */
  public static void erase(Path top) throws IOException {
    delete(top, FileTree::zero);
  }

  private static void delete(Path top, Parting parting) throws IOException {
    Path whole = top.toAbsolutePath();
    Path name = whole.getFileName();
    if (!Files.exists(whole, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    try (SecureDirectoryStream<Path> parent = handle(Files.newDirectoryStream(whole.getParent()))) {
      if (isDirectory(parent, name)) {
        emptyAll(() -> parent.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS), parting);
      }
      remove(parent, name, parting);
    }
  }

  /** Deletes the content of a directory and keeps the directory; does nothing if there is none. */
  public static void empty(Path directory) throws IOException {
    if (Files.isDirectory(directory)) {
      emptyAll(() -> Files.newDirectoryStream(directory), Parting.NONE);
    }
  }

  private static void emptyAll(Top top, Parting parting) throws IOException {
    boolean found = true;
    while (found) {
      try (SecureDirectoryStream<Path> opened = handle(top.open())) {
        found = emptyOnce(opened, parting);
      } catch (NoSuchFileException gone) {
        found = false;
      }
    }
  }

  /**
   * Deletes all entries of a directory, and moves their inner directories up into it.
   *
   * @return whether there was an entry
   */
  private static boolean emptyOnce(SecureDirectoryStream<Path> top, Parting parting)
      throws IOException {
    boolean found = false;
    try {
      for (Path each : top) {
        found = true;
        Path name = each.getFileName();
        if (isDirectory(top, name)) {
          raise(top, name, parting);
        }
        remove(top, name, parting);
      }
      return found;
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
  }

  /** Deletes the files of a directory, and moves its directories up to the top. */
  private static void raise(SecureDirectoryStream<Path> top, Path name, Parting parting)
      throws IOException {
    try (SecureDirectoryStream<Path> opened =
        handle(top.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS))) {
      for (Path each : opened) {
        Path inner = each.getFileName();
        if (isDirectory(opened, inner)) {
          opened.move(inner, top, inner.resolveSibling(UUID.randomUUID().toString()));
        } else {
          remove(opened, inner, parting);
        }
      }
    } catch (NoSuchFileException gone) {
      // As in the catch block below.
    }
  }

  private static void remove(SecureDirectoryStream<Path> parent, Path name, Parting parting)
      throws IOException {
    try {
      if (isDirectory(parent, name)) {
        parent.deleteDirectory(name);
      } else {
        parting.from(parent, name);
        parent.deleteFile(name);
      }
    } catch (NoSuchFileException gone) {
      // A program that ends may still remove its own files.
    }
  }

  private static void zero(SecureDirectoryStream<Path> parent, Path name) throws IOException {
    if (attributes(parent, name).isRegularFile()) {
      try (FileChannel channel =
          (FileChannel)
              parent.newByteChannel(
                  name, Set.of(StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS))) {
        FilePlacement.zero(channel);
      }
    }
  }

  private static boolean isDirectory(SecureDirectoryStream<Path> parent, Path name)
      throws IOException {
    try {
      return attributes(parent, name).isDirectory();
    } catch (NoSuchFileException gone) {
      return false;
    }
  }

  private static BasicFileAttributes attributes(SecureDirectoryStream<Path> parent, Path name)
      throws IOException {
    return parent
        .getFileAttributeView(name, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
        .readAttributes();
  }

  private static SecureDirectoryStream<Path> handle(DirectoryStream<Path> opened)
      throws IOException {
    if (opened instanceof SecureDirectoryStream<Path> secure) {
      return secure;
    }
    opened.close();
    throw new IOException("this system gives no handles of directories; Polis runs on Linux");
  }
}
