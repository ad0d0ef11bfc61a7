package dev.polis.ctl.local;

import dev.polis.ctl.session.CtlException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Starts one node with {@code polis up --detach}, which ends when the node is HOME.
 *
 * @param node which is started
 * @param process the start, not the node
 */
record NodeStart(LocalNode node, Process process) {

  /** The start itself waits longer than the step, whose message names the node's own wait. */
  private static final String PATIENCE = "600";

  private static final int ALREADY_RUNS = 4;

  /** Begins the line with which the scripts name a remedy. */
  private static final String REMEDY = "polis: next: ";

  /**
   * Starts a node.
   *
   * @param polis the script
   * @param options of all nodes
   * @param own options of this node
   */
  static NodeStart of(LocalNode node, Path polis, List<String> options, List<String> own) {
    List<String> command = new ArrayList<>(List.of(polis.toString(), "up", "--detach"));
    command.addAll(List.of("--state", node.state().toString(), "--address", node.address()));
    command.addAll(own);
    command.addAll(options);
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectInput(new File("/dev/null"))
            .redirectOutput(node.output().toFile());
    builder.environment().put("POLIS_DETACH_WITHIN", PATIENCE);
    // The training of this build would take the processor from the other nodes.
    builder.environment().put("POLIS_TRAIN", "no");
    try {
      return new NodeStart(node, builder.start());
    } catch (IOException e) {
      throw new CtlException("%s cannot be started: %s".formatted(node.name(), e), e);
    }
  }

  /** Returns whether the node is HOME. */
  boolean isHome() {
    if (process.isAlive()) {
      return false;
    }
    int code = process.exitValue();
    return code == 0 || code == ALREADY_RUNS && node.isHome();
  }

  /** Returns why the start has failed; empty while it may succeed. */
  Optional<StepFailure> failure(String remedy) {
    if (process.isAlive() || process.exitValue() == 0 || process.exitValue() == ALREADY_RUNS) {
      return Optional.empty();
    }
    List<String> said = said();
    String named =
        said.stream()
            .filter(line -> line.startsWith(REMEDY))
            .map(line -> line.substring(REMEDY.length()) + "; then ")
            .reduce((_, last) -> last)
            .orElse("");
    String cause =
        said.stream()
            .filter(line -> !line.startsWith(REMEDY))
            .reduce((_, last) -> last)
            .orElse("exit code " + process.exitValue());
    return Optional.of(
        new StepFailure(
            "the start of " + node.name(),
            cause.startsWith("polis: ") ? cause.substring("polis: ".length()) : cause,
            named + remedy + "; all that the node printed is in " + node.output()));
  }

  private List<String> said() {
    try {
      return Files.readString(node.output()).strip().lines().toList();
    } catch (IOException unreadable) {
      return List.of("%s cannot be read: %s".formatted(node.output(), unreadable));
    }
  }
}
