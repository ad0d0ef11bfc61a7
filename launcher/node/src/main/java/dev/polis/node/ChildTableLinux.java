package dev.polis.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds zombies in /proc and reaps them by waitpid(2). */
final class ChildTableLinux implements ChildTable {
  /** Do not wait: from wait.h. */
  private static final int WNOHANG = 1;

  private static final Path PROC = Path.of("/proc");

  private final long self = ProcessHandle.current().pid();
  private final MethodHandle waitpid = waitpid();

  @Override
  public List<Long> exited() {
    List<Long> found = new ArrayList<>();
    try (Stream<Path> processes = Files.list(PROC)) {
      for (Path process : processes.toList()) {
        String name = process.getFileName().toString();
        if (name.matches("[0-9]+") && isOurZombie(process)) {
          found.add(Long.valueOf(name));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("/proc can not be read; is it mounted?", e);
    }
    return found;
  }

  @Override
  public boolean reap(long pid) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment status = arena.allocate(ValueLayout.JAVA_INT);
      int reaped = (int) waitpid.invokeExact((int) pid, status, WNOHANG);
      return reaped == pid;
    } catch (Throwable e) {
      throw new IllegalStateException("waitpid could not be called", e);
    }
  }

  @SuppressWarnings("restricted") // The launcher is started with --enable-native-access.
  private static MethodHandle waitpid() {
    Linker linker = Linker.nativeLinker();
    FunctionDescriptor signature =
        FunctionDescriptor.of(
            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
    return linker.downcallHandle(linker.defaultLookup().findOrThrow("waitpid"), signature);
  }

  private boolean isOurZombie(Path process) throws IOException {
    Optional<String> stat = stat(process);
    if (stat.isEmpty()) {
      return false;
    }
    // "pid (name) state ppid …": the name may hold anything, so the fields are counted from its
    // end.
    String[] fields = stat.get().substring(stat.get().lastIndexOf(')') + 2).split(" ");
    return fields[0].equals("Z") && Long.parseLong(fields[1]) == self;
  }

  private static Optional<String> stat(Path process) throws IOException {
    try {
      return Optional.of(Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      // ESRCH: the process ended between the opening and the reading.
      if (String.valueOf(e.getMessage()).contains("No such process")) {
        return Optional.empty();
      }
      throw e;
    }
  }
}
