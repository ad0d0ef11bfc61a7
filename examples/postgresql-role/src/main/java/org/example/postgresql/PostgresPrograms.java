package org.example.postgresql;

import dev.polis.process.ProcessException;
import dev.polis.process.ProgramPath;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Names the two programs that are needed.
 *
 * @param postgres the server
 * @param initdb what makes its first data
 */
record PostgresPrograms(Path postgres, Path initdb) {

  /** Where Debian puts them, in a folder for each major version. */
  private static final Path DEBIAN = Path.of("/usr/lib/postgresql");

  private static final String SERVER = "postgres";
  private static final String MAKER = "initdb";

  /**
   * Finds them.
   *
   * @param configured a folder; blank to search for them
   * @throws ProcessException if one is missing; the message says what to install
   */
  static PostgresPrograms find(String configured) {
    String folder = configured.isBlank() ? installed().orElse("") : configured;
    return new PostgresPrograms(program(folder, SERVER), program(folder, MAKER));
  }

  private static Path program(String folder, String name) {
    return ProgramPath.find(folder, List.of(name))
        .orElseThrow(
            () ->
                new ProcessException(
                    "%s: install it (apt-get install postgresql), or set programs of %s to its folder"
                        .formatted(ProgramPath.problem(folder, name), PostgresSettings.PID)));
  }

  private static Optional<String> installed() {
    if (!Files.isDirectory(DEBIAN)) {
      return Optional.empty();
    }
    try (Stream<Path> versions = Files.list(DEBIAN)) {
      return versions
          .filter(version -> Files.isExecutable(version.resolve("bin").resolve(SERVER)))
          .max(Comparator.comparingInt(PostgresPrograms::major))
          .map(version -> version.resolve("bin").toString());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot list " + DEBIAN, e);
    }
  }

  private static int major(Path version) {
    String name = version.getFileName().toString();
    return name.matches("[0-9]{1,4}") ? Integer.parseInt(name) : 0;
  }
}
