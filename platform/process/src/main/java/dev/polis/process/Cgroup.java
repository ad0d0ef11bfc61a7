package dev.polis.process;

import dev.polis.base.posix.KernelFiles;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Reads and removes a cgroup with its descendants: one folder in the hierarchy of version 2, or one
 * in each hierarchy of version 1.
 *
 * @param root the mount point of the cgroups, {@link #ROOT} outside tests
 * @param name the name of the folder; empty for none
 */
public record Cgroup(Path root, String name) {

  /** The mount point of cgroups in all distributions. */
  public static final Path ROOT = Path.of("/sys/fs/cgroup");

  /**
   * The pause between checks; the kernel empties a cgroup some milliseconds after the death of its
   * last process.
   */
  private static final Duration PACE = Duration.ofMillis(20);

  /** Returns the ids of the processes in the cgroup and its descendants. */
  public Set<Long> processes() throws IOException {
    Set<Long> found = new TreeSet<>();
    for (Path folder : folders()) {
      Files.walkFileTree(folder, new Walk(each -> readProcesses(each, found)));
    }
    return found;
  }

  private static void readProcesses(Path folder, Set<Long> found) throws IOException {
    // The last process may have ended, and its owner may have removed the folder.
    KernelFiles.read(folder.resolve("cgroup.procs")).stream()
        .flatMap(String::lines)
        .map(Long::valueOf)
        .forEach(found::add);
  }

  /**
   * Removes the cgroup.
   *
   * @param patience the time for the kernel to empty it
   * @param progress receives each folder before its removal
   * @return the folders that are still in use
   */
  public List<Path> remove(Duration patience, Consumer<Path> progress)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    List<Path> left = new ArrayList<>();
    for (Path folder : folders()) {
      progress.accept(folder);
      while (!removed(folder) && System.nanoTime() < end) {
        Thread.sleep(PACE);
      }
      if (Files.exists(folder)) {
        left.add(folder);
      }
    }
    return left;
  }

  private static boolean removed(Path folder) {
    try {
      Files.walkFileTree(folder, new Walk(Files::deleteIfExists));
      return true;
    } catch (IOException busy) {
      return !Files.exists(folder);
    }
  }

  /** Returns the cgroup's folders in all hierarchies; runc makes some itself. */
  private Set<Path> folders() throws IOException {
    Set<Path> found = new TreeSet<>();
    if (name.isEmpty()) {
      return found;
    }
    if (Files.isDirectory(root.resolve(name))) {
      found.add(root.resolve(name));
    }
    try (DirectoryStream<Path> hierarchies = Files.newDirectoryStream(root)) {
      for (Path hierarchy : hierarchies) {
        if (Files.isDirectory(hierarchy.resolve(name))) {
          found.add(hierarchy.toRealPath().resolve(name));
        }
      }
    }
    return found;
  }

  /** Is an action on a folder after its subfolders. */
  @FunctionalInterface
  private interface FolderAction {
    void act(Path folder) throws IOException;
  }

  /** Visits only folders: the kernel's files in a cgroup disappear with their folder. */
  private static final class Walk extends SimpleFileVisitor<Path> {
    private final FolderAction action;

    Walk(FolderAction action) {
      this.action = action;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
      if (failure instanceof NoSuchFileException) {
        return FileVisitResult.CONTINUE;
      }
      throw failure;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path folder, IOException failure) throws IOException {
      action.act(folder);
      return FileVisitResult.CONTINUE;
    }
  }
}
