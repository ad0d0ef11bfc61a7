package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.base.digest.Sha256;
import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Finds the runtime's programs in their folder. It refuses a program that is missing, does not run,
 * or has a version for which this organ has no configuration.
 *
 * @param folder the folder with {@code bin/}, {@code cni/} and perhaps {@code root/usr}
 * @param containerd its version
 * @param runc its version
 */
record RuntimePrograms(Path folder, RuntimeVersion containerd, RuntimeVersion runc) {

  /** The oldest containerd with version 1 of CRI, the only one that Kubernetes supports. */
  private static final RuntimeVersion OLDEST_CONTAINERD = new RuntimeVersion(1, 6, 0);

  private static final RuntimeVersion OLDEST_RUNC = new RuntimeVersion(1, 1, 0);

  /** The first major release of containerd, and of runc, with unknown options. */
  private static final RuntimeVersion TOO_NEW_CONTAINERD = new RuntimeVersion(3, 0, 0);

  private static final RuntimeVersion TOO_NEW_RUNC = new RuntimeVersion(2, 0, 0);

  private static final List<String> NEEDED =
      List.of("containerd", "containerd-shim-runc-v2", "ctr", "runc", "busybox");

  /** The time for the version of a program of 40 MB on a slow disk under load. */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /** The characters with another meaning in the options of an overlay. */
  private static final String SEPARATORS = ".*[,:\\\\].*";

  private static final String REMEDY =
      "; run \"polis provision kubernetes\", or correct programs of dev.polis.containers";

  /**
   * Finds the programs.
   *
   * @param configured their folder; blank for none
   * @throws ContainersException naming program, folder and remedy
   */
  static RuntimePrograms find(String configured) throws InterruptedException {
    if (configured.isBlank()) {
      throw new ContainersException(
          "this node has no containerd; run \"polis provision kubernetes\" and start the node with \"polis up --kubernetes\", or set programs of dev.polis.containers");
    }
    Path folder = Path.of(configured).toAbsolutePath().normalize();
    if (folder.toString().matches(SEPARATORS)) {
      throw new ContainersException(
          "the folder of programs %s has a comma, a colon or a backslash in its name, which overlays do not support; move it"
              .formatted(folder));
    }
    for (String name : NEEDED) {
      require(folder.resolve("bin").resolve(name));
    }
    RuntimeVersion containerd = version(folder.resolve("bin/containerd"));
    RuntimeVersion runc = version(folder.resolve("bin/runc"));
    requireBetween("containerd", containerd, OLDEST_CONTAINERD, TOO_NEW_CONTAINERD);
    requireBetween("runc", runc, OLDEST_RUNC, TOO_NEW_RUNC);
    return new RuntimePrograms(folder, containerd, runc);
  }

  private static void require(Path program) {
    if (!Files.isExecutable(program)) {
      throw new ContainersException(
          program + (Files.exists(program) ? " is not executable" : " is missing") + REMEDY);
    }
  }

  private static RuntimeVersion version(Path program) throws InterruptedException {
    try {
      Commands.Result said = new Commands().run(PATIENCE, List.of(program.toString(), "--version"));
      return RuntimeVersion.find(said.ok() ? said.output() : "")
          .orElseThrow(
              () ->
                  new ContainersException(
                      "does not report its version: %s; it may be damaged or made for another machine%s"
                          .formatted(said.words(), REMEDY)));
    } catch (IOException e) {
      throw new ContainersException(
          "%s cannot be run: %s%s".formatted(program, e.getMessage(), REMEDY), e);
    }
  }

  static void requireBetween(
      String name, RuntimeVersion found, RuntimeVersion oldest, RuntimeVersion tooNew) {
    if (found.compareTo(oldest) < 0 || found.compareTo(tooNew) >= 0) {
      throw new ContainersException(
          "%s has version %s; use version %d.%d or newer, below %d.%d%s"
              .formatted(
                  name,
                  found,
                  oldest.major(),
                  oldest.minor(),
                  tooNew.major(),
                  tooNew.minor(),
                  REMEDY));
    }
  }

  /** Returns the path of a program. */
  Path program(String name) {
    return folder.resolve("bin").resolve(name);
  }

  /** Returns the folder of the network plugins. */
  Path networkPlugins() {
    return folder.resolve("cni");
  }

  /** Returns the folder that covers the machine's {@code /usr}; it may not exist. */
  Path overUsr() {
    return folder.resolve("root/usr");
  }

  /** Returns a digest that another build of containerd under the same path does not share. */
  String digest() {
    Path path = program("containerd");
    try {
      return Sha256.ofProgram(path);
    } catch (IOException unreadable) {
      throw new ContainersException(
          "cannot read " + path + ": " + unreadable.getMessage() + REMEDY, unreadable);
    }
  }
}
