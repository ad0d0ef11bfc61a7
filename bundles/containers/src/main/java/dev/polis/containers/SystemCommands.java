package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Runs programs of the machine, and names the package of a missing one. */
final class SystemCommands {

  /** The time for a change in the kernel, which takes milliseconds, on a machine under load. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final Map<String, String> PACKAGES =
      Map.of(
          "ip", "iproute2",
          "nsenter", "util-linux",
          "unshare", "util-linux",
          "mount", "mount",
          "mkfs.ext4", "e2fsprogs",
          "sh", "dash",
          "sleep", "coreutils");

  private final Commands commands = new Commands();

  /** Returns the absolute path of a program. */
  static String path(String program) {
    String found = Commands.located(List.of(program)).getFirst();
    if (!Path.of(found).isAbsolute()) {
      throw new ContainersException(
          "this machine has no program \"%s\"; install %s"
              .formatted(program, PACKAGES.getOrDefault(program, program)));
    }
    return found;
  }

  /** Refuses a machine that lacks one of the programs. */
  static void require(List<String> programs) {
    programs.forEach(SystemCommands::path);
  }

  /** Runs a program to its end, whatever the result. */
  Commands.Result run(List<String> command) throws InterruptedException {
    path(command.getFirst());
    try {
      return commands.run(PATIENCE, command);
    } catch (IOException e) {
      throw new ContainersException(
          "cannot run %s: %s".formatted(String.join(" ", command), e.getMessage()), e);
    }
  }

  /**
   * Runs a program that must succeed.
   *
   * @param purpose completes "cannot …"
   */
  String require(String purpose, List<String> command) throws InterruptedException {
    Commands.Result said = run(command);
    if (!said.ok()) {
      throw new ContainersException("cannot %s: %s".formatted(purpose, said.words()));
    }
    return said.output();
  }
}
