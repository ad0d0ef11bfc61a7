package dev.polis.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Runs short-lived system programs. Their locale is C, so that their messages are in English. It
 * kills an interrupted or overdue program with its descendants.
 */
public class Commands {

  // Directories of system programs that a service's or an unprivileged user's PATH often lacks.
  private static final List<String> SYSTEM =
      List.of("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin");

  private static final List<Path> DIRECTORIES =
      directories(System.getenv().getOrDefault("PATH", ""));

  /**
   * Returns the directories of programs: the system's, then those of PATH, in which "polis up" puts
   * unpacked programs.
   */
  static List<Path> directories(String path) {
    return Stream.concat(SYSTEM.stream(), Stream.of(path.split(":")))
        // A relative directory would depend on the node's working directory.
        .filter(directory -> directory.startsWith("/"))
        .distinct()
        .map(Path::of)
        .toList();
  }

  /**
   * The folders for outputs, the best first: memory, which a full or read-only disk does not
   * affect, and where no disk keeps what a program printed.
   */
  private static final List<Path> OUTPUTS =
      List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir")));

  /** More than any of the programs prints, in bytes; containers give /dev/shm only 64 MiB. */
  private static final long ROOM = 4 << 20;

  /**
   * Returns the first folder that takes files and has room; the last one, which fails with the
   * reason, if none.
   */
  static Path writable(List<Path> folders) {
    return folders.stream()
        .filter(Files::isWritable)
        .filter(folder -> folder.toFile().getUsableSpace() >= ROOM)
        .findFirst()
        .orElseGet(folders::getLast);
  }

  /**
   * Holds the end of a program.
   *
   * @param output its output, both streams, trimmed
   */
  public record Result(List<String> command, int exit, String output) {
    /** Returns whether the exit code is 0. */
    public boolean ok() {
      return exit == 0;
    }

    /** Returns the end and the output of the program, on one line. */
    public String words() {
      String said =
          output.isEmpty() ? "printed nothing" : "printed \"" + output.replace('\n', ' ') + "\"";
      return command.getFirst() + " ended with " + exit + " and " + said;
    }
  }

  /** Returns whether a program is installed. */
  public boolean has(String program) {
    return DIRECTORIES.stream()
        .anyMatch(directory -> Files.isExecutable(directory.resolve(program)));
  }

  /** Runs a program to its end. */
  public Result run(Duration within, List<String> command)
      throws IOException, InterruptedException {
    return run(within, command, new byte[0]);
  }

  /** Runs a program to its end with these bytes as its input, which it may ignore. */
  public Result run(Duration within, List<String> command, byte[] input)
      throws IOException, InterruptedException {
    // Into a file, not a pipe: a daemon of the program would keep a pipe open for ever.
    Path output = Files.createTempFile(writable(OUTPUTS), "polis-command", ".out");
    try (InputStream printed = Files.newInputStream(output)) {
      ProcessBuilder builder =
          new ProcessBuilder(located(command))
              .redirectErrorStream(true)
              .redirectOutput(output.toFile());
      builder.environment().put("LC_ALL", "C");
      Process process = builder.start();
      // Both processes have it open and need no name; a killed node leaves no file behind.
      Files.deleteIfExists(output);
      return finish(process, within, command, input, printed);
    } finally {
      Files.deleteIfExists(output);
    }
  }

  private static Result finish(
      Process process, Duration within, List<String> command, byte[] input, InputStream printed)
      throws IOException, InterruptedException {
    try {
      // Concurrent with the wait: a pipe takes 64 KiB, and the program may not read more.
      Thread.ofVirtual().name("input-of-command").start(() -> feed(process, input));
      if (!process.waitFor(within.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new IOException(
            "%s did not end within %d s; it was killed"
                .formatted(command.getFirst(), within.toSeconds()));
      }
      String said = new String(printed.readAllBytes(), StandardCharsets.UTF_8).strip();
      return new Result(command, process.exitValue(), said);
    } finally {
      if (process.isAlive()) {
        // The descendants hold the pipe too, and its writer ends with the last of them.
        process.descendants().forEach(ProcessHandle::destroyForcibly);
      }
      process.destroyForcibly();
    }
  }

  private static void feed(Process process, byte[] input) {
    try (var stream = process.getOutputStream()) {
      stream.write(input);
    } catch (IOException brokenPipe) {
      // The program did not read all of it, or has ended: its exit code and output explain this.
    }
  }

  /**
   * Returns the command with the program's whole path. It leaves the command of a missing program
   * unchanged, so that the start fails with a message that names the program.
   */
  public static List<String> located(List<String> command) {
    for (Path directory : DIRECTORIES) {
      Path program = directory.resolve(command.getFirst());
      if (Files.isExecutable(program)) {
        return Stream.concat(Stream.of(program.toString()), command.stream().skip(1)).toList();
      }
    }
    return command;
  }
}
