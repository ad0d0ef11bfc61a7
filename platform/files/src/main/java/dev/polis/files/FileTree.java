package dev.polis.files;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** Deletes directories with all they hold. Symbolic links are deleted, never followed. */
public final class FileTree {

  private FileTree() {}

  /** Deletes a file or a directory with all it holds; no failure if there is none. */
  public static void delete(Path top) throws IOException {
    if (Files.exists(top, LinkOption.NOFOLLOW_LINKS)) {
      Files.walkFileTree(top, new Deletion());
    }
  }

  /** Deletes what a directory holds and keeps the directory; no failure if there is none. */
  public static void empty(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return;
    }
    try (var entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        delete(entry);
      }
    }
  }

  private static final class Deletion extends SimpleFileVisitor<Path> {
    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
      Files.deleteIfExists(file);
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
      if (failure instanceof NoSuchFileException) {
        // A program that ends may still remove its own files while the tree is walked.
        return FileVisitResult.CONTINUE;
      }
      throw failure;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, IOException failure)
        throws IOException {
      if (failure != null) {
        throw failure;
      }
      Files.deleteIfExists(directory);
      return FileVisitResult.CONTINUE;
    }
  }
}
