package dev.polis.process;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Finds a program on this machine. */
public final class ProgramPath {

  private ProgramPath() {}

  /**
   * Explains a fruitless {@link #find}.
   *
   * @param configured the configured path
   * @param name the preferred name of the program
   * @return a clause that names the path, without a remedy
   */
  public static String problem(String configured, String name) {
    if (configured.isBlank()) {
      return "%s is not in any directory of PATH %s"
          .formatted(name, System.getenv().getOrDefault("PATH", ""));
    }
    Path path = Path.of(configured).toAbsolutePath();
    Path program = Files.isDirectory(path) ? path.resolve(name) : path;
    return Files.exists(program)
        ? program + " is not an executable file, so it cannot be " + name
        : name + " is not at " + program;
  }

  /**
   * Finds a program at the operator's path, or in {@code PATH}.
   *
   * @param configured the program or the directory that holds it; blank to search {@code PATH}
   * @param names the names of the program, the preferred one first
   * @return the executable, absolute, with links resolved; empty if there is none
   */
  public static Optional<Path> find(String configured, List<String> names) {
    if (configured.isBlank()) {
      return searched().stream()
          .flatMap(directory -> names.stream().map(directory::resolve))
          .filter(ProgramPath::isExecutable)
          .findFirst()
          .map(ProgramPath::resolved);
    }
    Path path = Path.of(configured);
    return (Files.isDirectory(path) ? names.stream().map(path::resolve).toList() : List.of(path))
        .stream().filter(ProgramPath::isExecutable).findFirst().map(ProgramPath::resolved);
  }

  /** Returns the directories of {@code PATH}. */
  private static List<Path> searched() {
    return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .filter(directory -> !directory.isEmpty())
        .map(Path::of)
        .toList();
  }

  private static boolean isExecutable(Path file) {
    return Files.isRegularFile(file) && Files.isExecutable(file);
  }

  private static Path resolved(Path program) {
    try {
      return program.toRealPath();
    } catch (IOException vanished) {
      // The file was there a moment ago; its start fails with the reason.
      return program.toAbsolutePath();
    }
  }
}
