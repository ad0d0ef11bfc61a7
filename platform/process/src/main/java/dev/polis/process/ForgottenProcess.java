package dev.polis.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Is a live child of a node whose record and output were deleted. The kernel still shows its output
 * as an open file of the deleted name, by which this class finds it.
 *
 * @param name the name that its record had
 * @param pid process id
 * @param startTicks start time in clock ticks since boot, so that no later process with its id gets
 *     a signal
 * @param program the path of its program; empty if this process may not read it
 */
public record ForgottenProcess(String name, long pid, long startTicks, String program) {

  /** The time of a program after SIGTERM; etcd and containerd need less than a second. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  /**
   * Finds the processes of a directory of records that have lost their output there.
   *
   * @param directory as the kernel shows it, without symbolic links; it need not exist
   * @throws ProcessException if {@code /proc} cannot be read
   */
  public static List<ForgottenProcess> find(Path directory) {
    Pattern output =
        Pattern.compile(
            Pattern.quote(directory.toString()) + "/(?<name>[^/]+)\\.log(\\.1)? \\(deleted\\)");
    return Proc.pids().stream()
        .map(Proc::folder)
        .flatMap(process -> name(process, output).flatMap(name -> of(process, name)).stream())
        .toList();
  }

  private static Optional<String> name(Path process, Pattern output) {
    return OpenFiles.of(process).stream()
        .map(output::matcher)
        .filter(Matcher::matches)
        .map(file -> file.group("name"))
        .findFirst();
  }

  private static Optional<ForgottenProcess> of(Path process, String name) {
    return Proc.stat(process)
        .filter(stat -> !stat.dead())
        .map(stat -> new ForgottenProcess(name, stat.pid(), stat.startTicks(), program(process)));
  }

  private static String program(Path process) {
    try {
      // A program that was replaced meanwhile has the mark, too.
      return Files.readSymbolicLink(process.resolve("exe")).toString().replace(" (deleted)", "");
    } catch (IOException ended) {
      return "";
    }
  }

  /**
   * Signals the process to end, and kills it after its time.
   *
   * @throws ProcessException if it survives SIGKILL
   */
  public void end() throws InterruptedException {
    ProcessKiller.end(new Proc.Stat(pid, 'S', pid, 1, startTicks), StopSignal.TERM, GRACE);
  }
}
