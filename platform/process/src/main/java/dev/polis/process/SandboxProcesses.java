package dev.polis.process;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/** Finds the processes of a sandbox by their namespaces, and ends those that are no children. */
public final class SandboxProcesses {

  private static final Path PROC = Path.of("/proc");

  /** Lies inside a sandbox, and holds the name of its cgroup. */
  private static final String MARK = "run/polis-sandbox";

  private SandboxProcesses() {}

  /** Lists processes as they are at the moment of the call. */
  @FunctionalInterface
  public interface Listing {
    /** Returns their ids. */
    Set<Long> list() throws IOException;
  }

  /**
   * Returns the id of a namespace of a process, such as {@code mnt:[4026531841]}; empty if gone.
   */
  public static String namespace(String process, String kind) {
    try {
      return Files.readSymbolicLink(PROC.resolve(process).resolve("ns").resolve(kind)).toString();
    } catch (IOException gone) {
      return "";
    }
  }

  /** Returns the processes that are in one of these namespaces. */
  public static Set<Long> within(Collection<String> namespaces) throws IOException {
    return find(
        process ->
            namespaces.stream()
                .anyMatch(
                    each -> namespace(process, each.substring(0, each.indexOf(':'))).equals(each)));
  }

  /**
   * Returns the processes that are in one of these namespaces, and in the sandbox of that cgroup.
   */
  public static Set<Long> inside(Collection<String> namespaces, String cgroup) throws IOException {
    Set<Long> found = within(namespaces);
    found.removeIf(process -> !isOf(process, cgroup));
    return found;
  }

  /**
   * Returns whether a process is in the sandbox of that cgroup. The kernel gives the number of a
   * namespace that has ended to the next one, which may belong to any process.
   */
  public static boolean isOf(long process, String cgroup) {
    try {
      return Files.readString(mark(process)).equals(cgroup);
    } catch (IOException goneOrNone) {
      return false;
    }
  }

  /** Returns where the mark of a sandbox lies, seen from outside by way of a process inside. */
  public static Path mark(long process) {
    return Proc.folder(process).resolve("root").resolve(MARK);
  }

  /**
   * Returns the processes of this mount namespace whose program is this file. The same program may
   * run in the sandbox of another node of this machine.
   */
  public static Set<Long> running(Path program) throws IOException {
    String here = namespace("self", "mnt");
    return find(process -> runs(process, program) && namespace(process, "mnt").equals(here));
  }

  private static boolean runs(String process, Path program) {
    try {
      return Files.readSymbolicLink(PROC.resolve(process).resolve("exe")).equals(program);
    } catch (IOException goneOrOfTheKernel) {
      return false;
    }
  }

  private static Set<Long> find(Predicate<String> wanted) throws IOException {
    Set<Long> found = new TreeSet<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path process : all) {
        String id = process.getFileName().toString();
        if (wanted.test(id)) {
          found.add(Long.valueOf(id));
        }
      }
    }
    return found;
  }

  /**
   * Asks processes to end and kills those that are left after a while, also those that come
   * meanwhile.
   *
   * @param grace zero to kill them at once
   * @param patience how long the kernel is given for those that are killed
   * @return whether all are gone
   */
  public static boolean end(Listing processes, Duration grace, Duration patience)
      throws InterruptedException {
    return ProcessKiller.end(
        () -> {
          try {
            return processes.list().stream()
                .map(Proc::stat)
                .flatMap(stat -> stat.filter(each -> !each.dead()).stream())
                .toList();
          } catch (IOException e) {
            throw new ProcessException("cannot list processes: " + e.getMessage(), e);
          }
        },
        StopSignal.TERM,
        grace,
        patience);
  }
}
