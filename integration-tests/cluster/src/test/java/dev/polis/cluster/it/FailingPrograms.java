package dev.polis.cluster.it;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * Gives a node the programs of Kubernetes as links, and replaces single ones by a program that
 * fails at its start.
 */
final class FailingPrograms {

  private final Path real;
  private final Path folder;

  private FailingPrograms(Path real, Path folder) {
    this.real = real;
    this.folder = folder;
  }

  /** Makes the links; no program fails yet. */
  static FailingPrograms linkedIn(Path folder) throws IOException {
    Path real = KubernetesNode.programs().toRealPath();
    Path bin = Files.createDirectories(folder.resolve("bin"));
    link(real.resolve("bin"), bin);
    for (String name : List.of("cni", "root")) {
      Files.createSymbolicLink(folder.resolve(name), real.resolve(name));
    }
    return new FailingPrograms(real, folder);
  }

  private static void link(Path from, Path to) throws IOException {
    try (DirectoryStream<Path> programs = Files.newDirectoryStream(from)) {
      for (Path program : programs) {
        Files.createSymbolicLink(to.resolve(program.getFileName()), program);
      }
    }
  }

  Path folder() {
    return folder;
  }

  /** Returns the line that a failing program prints before it ends. */
  static String lastLine(String program) {
    return "this %s was broken by a test".formatted(program);
  }

  /** Replaces a program by one that still prints its version, and otherwise ends at once. */
  void fail(String program) throws IOException {
    Path script = folder.resolve(program + ".script");
    Files.writeString(
        script,
        """
        #!/bin/sh
        case "$1" in --version) exec '%s' "$@" ;; esac
        date +%%s%%3N >>'%s'
        echo '%s' >&2
        exit 1
        """
            .formatted(original(program), starts(program), lastLine(program)));
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
    if (!Files.exists(starts(program))) {
      // The program writes this file under its own account.
      Files.createFile(starts(program));
      Files.setPosixFilePermissions(starts(program), PosixFilePermissions.fromString("rw-rw-rw-"));
    }
    replace(program, script);
  }

  /** Restores the program. */
  void mend(String program) throws IOException {
    Path link = folder.resolve(program + ".link");
    Files.createSymbolicLink(link, original(program));
    replace(program, link);
  }

  private void replace(String program, Path by) throws IOException {
    Files.move(by, folder.resolve("bin").resolve(program), StandardCopyOption.ATOMIC_MOVE);
  }

  private Path original(String program) {
    return real.resolve("bin").resolve(program);
  }

  private Path starts(String program) {
    return folder.resolve(program + ".starts");
  }

  /** Returns the times at which the program started and failed, in milliseconds. */
  List<Long> startTimes(String program) throws IOException {
    return Files.exists(starts(program))
        ? Files.readAllLines(starts(program)).stream().map(Long::valueOf).toList()
        : List.of();
  }
}
