package dev.polis.cluster.it.docs;

import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the commands of one page in the repository, with its own state directory and address in
 * place of the defaults.
 */
final class PageShell {

  /** The time limit of a command on a busy machine; {@code up} gives up by itself before. */
  private static final Duration LONGEST = Duration.ofMinutes(5);

  private final Path repository;
  private final Path state;
  private final Map<String, String> environment;

  PageShell(Path repository, Path work, String address) throws IOException, InterruptedException {
    this.repository = repository;
    this.state = work.resolve("node");
    Path home = Files.createDirectories(work.resolve("home"));
    this.environment =
        Map.of(
            "POLIS_STATE", state.toString(),
            "POLIS_ADDRESS", address,
            "POLIS_BUILD", "no",
            "POLIS_TRAIN", "no",
            "POLIS_ETCD", EtcdBinary.folder().toString(),
            "JAVA_HOME", System.getProperty("java.home"),
            "XDG_CONFIG_HOME", home.toString(),
            "HOME", home.toString());
  }

  /** Runs a command; standard output and standard error are mixed as on a terminal. */
  Finished run(String command, Map<String, String> more) throws IOException, InterruptedException {
    return run(command, more, List.of());
  }

  /**
   * Runs a command as on a machine that lacks some programs: in a mount namespace of its own, a
   * file that is not executable covers each of them.
   */
  Finished run(String command, Map<String, String> more, List<String> lacking)
      throws IOException, InterruptedException {
    Map<String, String> all = new HashMap<>(environment);
    all.putAll(more);
    List<String> line = new ArrayList<>();
    String cover = "";
    if (!lacking.isEmpty()) {
      line.addAll(List.of("unshare", "--mount"));
      cover =
          """
          for program in %s; do
            for file in /usr/local/sbin/ /usr/local/bin/ /usr/sbin/ /usr/bin/ /sbin/ /bin/; do
              [[ ! -x $file$program ]] || mount --bind /dev/null $file$program
            done
          done
          """
              .formatted(String.join(" ", lacking));
    }
    line.addAll(List.of("bash", "-c", cover + "cd \"$1\" && eval \"$2\" 2>&1", "page"));
    line.addAll(List.of(repository.toString(), command));
    return Finished.of(line, all, LONGEST);
  }

  /** Returns a screen with the default folders, which the page's reader has. */
  List<String> screen(Finished finished) {
    return finished
        .out()
        .replace(state.toString(), ".polis/node")
        .replace(repository + "/polis", "./polis")
        .replace(repository + "/", "")
        .lines()
        .toList();
  }

  /** Stops the page's node; does nothing if it has none. */
  void stopNode() throws IOException, InterruptedException {
    if (Files.isDirectory(state)) {
      run("./polis down", Map.of()).requireSuccess("the node of a page cannot be stopped");
    }
  }
}
