package dev.polis.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Finds the processes of a sandbox by their namespaces, and ends those that are not the node's
 * children.
 */
public final class SandboxProcesses {

  private static final Path PROC = Path.of("/proc");

  /** The file inside a sandbox with the name of its cgroup. */
  private static final String MARK = "run/polis-sandbox";

  private SandboxProcesses() {}

  /** Lists processes at the moment of the call. */
  @FunctionalInterface
  public interface Listing {
    /** Returns the ids of the processes. */
    Set<Long> list() throws IOException;
  }

  /**
   * Returns the id of a process's namespace, such as {@code mnt:[4026531841]}; empty if the process
   * is gone.
   */
  public static String namespace(String process, String kind) {
    try {
      return Files.readSymbolicLink(PROC.resolve(process).resolve("ns").resolve(kind)).toString();
    } catch (IOException gone) {
      return "";
    }
  }

  /** Returns the processes in one of these namespaces. */
  public static Set<Long> within(Collection<String> namespaces) throws IOException {
    return find(
        process ->
            namespaces.stream()
                .anyMatch(
                    each -> namespace(process, each.substring(0, each.indexOf(':'))).equals(each)));
  }

  /**
   * Returns the processes in one of these namespaces that are also in the sandbox of that cgroup.
   */
  public static Set<Long> inside(Collection<String> namespaces, String cgroup) throws IOException {
    Set<Long> found = within(namespaces);
    found.removeIf(process -> !isOf(process, cgroup));
    return found;
  }

  /**
   * Returns whether a process is in the sandbox of that cgroup. The kernel may give the number of
   * an ended namespace to a new one of any process.
   */
  public static boolean isOf(long process, String cgroup) {
    try {
      return Files.readString(mark(process)).equals(cgroup);
    } catch (IOException goneOrNone) {
      return false;
    }
  }

  /** Returns the path of a sandbox's mark, seen from outside through a process inside. */
  public static Path mark(long process) {
    return Proc.folder(process).resolve("root").resolve(MARK);
  }

  /**
   * Returns the processes of this mount namespace that run this program file. The same program may
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
    return Proc.folders(PROC).stream()
        .map(process -> process.getFileName().toString())
        .filter(wanted)
        .map(Long::valueOf)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Signals processes to end and kills the rest after the grace, also those started meanwhile.
   *
   * @param grace zero to kill them at once
   * @param patience the time for killed processes to end
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
