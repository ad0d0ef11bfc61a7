package dev.polis.base.posix;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds children of this process that have exited and collects them. A child that was started with
 * {@link ProcessBuilder} belongs to the JDK: a collection here would lose its exit code.
 */
public final class Children {

  /** From wait.h: do not wait. */
  private static final int WNOHANG = 1;

  private static final Path PROC = Path.of("/proc");

  private Children() {}

  /** Lists the process ids of exited children that no call has collected. */
  public static List<Long> exited() throws IOException {
    long self = ProcessHandle.current().pid();
    List<Long> found = new ArrayList<>();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path process : processes) {
        if (isZombieOf(self, process)) {
          found.add(Long.valueOf(process.getFileName().toString()));
        }
      }
    }
    return found;
  }

  /**
   * Collects a child that has exited.
   *
   * @return whether the child was there
   * @throws PosixException with {@link Errno#ECHILD} if it is no child of this process
   */
  public static boolean reap(long pid) throws PosixException {
    return LibC.call(
            "waitpid",
            List.of(pid),
            (state, arena) -> {
              MemorySegment status = arena.allocate(ValueLayout.JAVA_INT);
              return (int) LibC.Child.WAITPID.invokeExact(state, (int) pid, status, WNOHANG);
            })
        == pid;
  }

  private static boolean isZombieOf(long parent, Path process) throws IOException {
    // The process may end at any time, and its file with it.
    String stat = KernelFiles.read(process.resolve("stat"), StandardCharsets.ISO_8859_1).orElse("");
    // "pid (name) state ppid …": the name may hold anything, so the fields follow the last bracket.
    int name = stat.lastIndexOf(')');
    if (name < 0) {
      return false;
    }
    String[] fields = stat.substring(name + 2).split(" ");
    return fields[0].equals("Z") && Long.parseLong(fields[1]) == parent;
  }
}
