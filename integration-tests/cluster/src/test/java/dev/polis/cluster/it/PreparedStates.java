package dev.polis.cluster.it;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Copies the state directory of a node that was bootstrapped, owned and stopped. The first test of
 * a run that needs a protection of the data volume makes that node; the processes of one run share
 * it. A copy starts at any address, since the only member of a cluster may change its address.
 */
final class PreparedStates {

  /** An address at which no test has a node. */
  private static final String ADDRESS = "127.0.99.1";

  /**
   * Long enough to copy a sparse file of 512 MiB with 70 MiB written, which takes a second on a
   * slow disk.
   */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private PreparedStates() {}

  /**
   * @param mode empty for the strongest protection that this machine supports @param to a path that
   *     does not exist yet
   */
  static void copy(Optional<Mode> mode, Path to) throws Exception {
    Path from = state(mode);
    Files.createDirectories(to.getParent());
    run("cp", "-a", "--reflink=auto", "--sparse=always", from.toString(), to.toString());
  }

  private static Path state(Optional<Mode> mode) throws Exception {
    Path all = Files.createDirectories(Path.of(property("polis.prepared")));
    Path ofRun = all.resolve(property("polis.run").replace(':', '-'));
    Path state = ofRun.resolve(mode.map(Mode::name).orElse("STRONGEST"));
    try (FileChannel file =
            FileChannel.open(
                all.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock _ = file.lock()) {
      if (!Files.exists(ofRun)) {
        clear(all);
        Files.createDirectories(ofRun);
      }
      if (!Files.exists(state)) {
        Path begun = ofRun.resolve("begun");
        run("rm", "-rf", begun.toString());
        make(mode, begun);
        Files.move(begun, state);
      }
    }
    return state;
  }

  private static void clear(Path all) throws Exception {
    try (var former = Files.newDirectoryStream(all, Files::isDirectory)) {
      for (Path each : former) {
        run("rm", "-rf", each.toString());
      }
    }
  }

  private static void make(Optional<Mode> mode, Path state) throws Exception {
    try (TestNode node = TestNode.prepared(state, ADDRESS)) {
      if (mode.isPresent()) {
        node.up(mode.get().options());
      } else {
        node.up();
      }
      node.takeOwnership();
      node.stop();
      // Leaves out the output, which belongs to the test that starts a node.
      run("rm", "-r", state.resolve("log").toString());
    }
  }

  private static void run(String... command) throws IOException, InterruptedException {
    Finished.of(List.of(command), Map.of(), PATIENCE).requireSuccess(String.join(" ", command));
  }

  private static String property(String name) {
    String value = System.getProperty(name);
    if (value == null) {
      throw new AssertionError(
          "the system property " + name + " is not set: run the test through Maven");
    }
    return value;
  }
}
