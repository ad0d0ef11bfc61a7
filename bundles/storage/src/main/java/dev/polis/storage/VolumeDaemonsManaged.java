package dev.polis.storage;

import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.process.Commands;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessException;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.process.ProcessSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Runs daemons as children of the process host, which records them for the next instance. */
final class VolumeDaemonsManaged implements VolumeDaemons {

  // Both daemons are ready within half a second on an idle machine.
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(10);
  private static final int LAST_WORDS = 400;
  // gocryptfs looks for fusermount3 there, and needs no other part of the environment.
  private static final Map<String, String> ENVIRONMENT =
      Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL", "C");

  private final ProcessManager processes;

  VolumeDaemonsManaged(ProcessManager processes) {
    this.processes = processes;
  }

  @Override
  public void start(String name, List<String> command, Ready ready)
      throws FileException, InterruptedException {
    try {
      // A running daemon may have reported long ago that it is ready.
      int before = running(name) ? 0 : log(processes.log(name)).length();
      ManagedProcess process =
          processes.ensure(
              ProcessSpec.of(name, Commands.located(command)).withEnvironment(ENVIRONMENT));
      long deadline = System.nanoTime() + PATIENCE.toNanos();
      while (!ready.now(since(before, log(process.log())))) {
        if (!process.running() || System.nanoTime() > deadline) {
          throw failed(process);
        }
        Thread.sleep(POLL);
      }
    } catch (ProcessException e) {
      throw new FileException(Problem.IO, "cannot start " + name, e.getMessage(), e);
    }
  }

  /** A shorter log was truncated meanwhile and begins again. */
  private static String since(int before, String log) {
    return log.substring(log.length() < before ? 0 : before);
  }

  /** Returns the readable part of the log, with a character for each byte. */
  private static String log(Path file) {
    try {
      return Files.exists(file) ? Files.readString(file, StandardCharsets.ISO_8859_1) : "";
    } catch (IOException e) {
      return "(its log cannot be read: " + e.getMessage() + ")";
    }
  }

  private static FileException failed(ManagedProcess process) {
    String state = process.status().peek().map(Object::toString).orElse("unknown");
    return new FileException(
        Problem.IO,
        "%s did not become ready (%s) and said \"%s\""
            .formatted(process.name(), state, lastWords(process.log())),
        "look at its log " + process.log());
  }

  private static String lastWords(Path log) {
    String all = log(log).strip();
    return all.substring(Math.max(0, all.length() - LAST_WORDS)).replace('\n', ' ');
  }

  @Override
  public void stop(String name) throws FileException, InterruptedException {
    try {
      processes.stop(name);
    } catch (ProcessException e) {
      throw new FileException(Problem.IO, "cannot stop " + name, e.getMessage(), e);
    }
  }

  @Override
  public boolean running(String name) {
    return processes.records().stream()
        .filter(record -> record.name().equals(name))
        .anyMatch(ProcessRecord::alive);
  }
}
