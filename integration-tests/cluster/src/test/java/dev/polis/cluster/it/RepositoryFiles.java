package dev.polis.cluster.it;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Lists files of the repository while tests that run beside make and delete some of them. */
final class RepositoryFiles {

  private RepositoryFiles() {}

  /** Returns the files below a folder, without those that were deleted meanwhile. */
  static Stream<Path> below(Path folder) throws IOException {
    List<Path> found = new ArrayList<>();
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            found.add(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException failure)
              throws IOException {
            return unlessDeleted(failure);
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, IOException failureOrNull)
              throws IOException {
            return failureOrNull == null ? FileVisitResult.CONTINUE : unlessDeleted(failureOrNull);
          }
        });
    return found.stream();
  }

  private static FileVisitResult unlessDeleted(IOException failure) throws IOException {
    if (failure instanceof NoSuchFileException) {
      return FileVisitResult.CONTINUE;
    }
    throw failure;
  }
}
