package dev.polis.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * What the launcher keeps in the state directory; the organs' part is theirs.
 *
 * @param root the state directory, absolute
 */
record NodeDirectory(Path root) {

  static NodeDirectory of(Path root) {
    return new NodeDirectory(root.toAbsolutePath().normalize());
  }

  /** Locked while a node runs, and says which process it is. */
  Path lock() {
    return root.resolve("node.lock");
  }

  /**
   * The plugin store. It lies outside of the data volume, which a bundle of it has to open first.
   */
  Path plugins() {
    return root.resolve("plugins");
  }

  /** Thrown away at each start. */
  Path frameworkCache() {
    return launcher().resolve("framework");
  }

  /**
   * What organs are configured with. Thrown away at each start too: what was said on an earlier
   * command line does not count any more.
   */
  Path configuration() {
    return launcher().resolve("configuration");
  }

  /** Present from HOME to the end, with the summary. */
  Path home() {
    return launcher().resolve("home");
  }

  /** Asks that SIGTERM be taken for a power off. */
  Path powerOff() {
    return launcher().resolve("power-off");
  }

  /** Records of child processes, kept by the process manager. */
  Path processes() {
    return root.resolve("ephemeral").resolve("processes");
  }

  /**
   * The crash that ended the last run, kept where it survives a reboot if there is such a place
   * already.
   */
  Path crash() {
    Path esp = root.resolve("esp");
    return (Files.isDirectory(esp) ? esp : launcher()).resolve("crash.txt");
  }

  private Path launcher() {
    return root.resolve("ephemeral").resolve("launcher");
  }

  void prepare() throws IOException {
    Files.createDirectories(launcher());
    Files.deleteIfExists(home());
    Files.deleteIfExists(powerOff());
    deleteTree(frameworkCache());
    deleteTree(configuration());
  }

  private static void deleteTree(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> tree = Files.walk(folder)) {
      for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    } catch (UncheckedIOException walking) {
      throw walking.getCause();
    }
  }
}
