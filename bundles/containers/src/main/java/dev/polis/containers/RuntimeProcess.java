package dev.polis.containers;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Sandbox;
import dev.polis.logtree.convert.LogfmtConverter;
import dev.polis.process.Child;
import dev.polis.process.ChildPlan;
import dev.polis.process.ChildProgram;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Says how containerd is run as a child process, whether it answers, and what its silence does to
 * the status of the organ.
 *
 * @param socket at which it answers, seen from here
 * @param serving the status while it answers
 */
record RuntimeProcess(Path socket, ContainersState state, ContainersStatus.Running serving)
    implements ChildProgram {

  /** The name of the process, and of the journal under the organ's that gets its lines. */
  static final String NAME = "containerd";

  /** While it starts it takes connections a moment before it answers. */
  private static final Duration READY_ANSWER = Duration.ofSeconds(1);

  /** It answers in a millisecond; on a machine that swaps, in seconds. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /**
   * It is asked each tenth second, as a stopped containerd does no harm for so long. The first
   * answer that is missed changes the status; two more are missed before it is ended.
   */
  private static final ChildPlan.Patience PATIENCE =
      new ChildPlan.Patience(
          Duration.ofSeconds(10), Duration.ZERO, Duration.ofSeconds(25), Duration.ofSeconds(25));

  /** containerd ends in milliseconds: its containers are not its own. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  /** How containerd says which of its parts does not start, and why. */
  private static final Pattern FAILURE =
      Pattern.compile("msg=\"failed to load plugin\" error=\"((?:[^\"\\\\]|\\\\.)*)\" id=(\\S+)");

  /**
   * Returns which of containerd's parts has failed first, by its log; those that need it follow.
   */
  static Optional<String> firstFailure(String log) {
    return FAILURE
        .matcher(log)
        .results()
        .findFirst()
        .map(found -> "its part %s says: %s".formatted(found.group(2), found.group(1)));
  }

  /**
   * Starts containerd, or adopts the one that runs from the same command line.
   *
   * @param root what is {@code /} inside the sandbox, seen from here
   * @param fingerprint of the program and its configuration
   */
  static Child start(
      ProcessManager processes,
      List<String> command,
      Path root,
      String fingerprint,
      ContainersState state,
      ContainersStatus.Running serving)
      throws InterruptedException {
    Sandbox sandbox = serving.sandbox();
    ProcessSpec spec =
        ProcessSpec.of(NAME, sandbox.command(command))
            .withEnvironment(Map.of("PATH", sandbox.path(), "HOME", "/root"))
            .withFingerprint(fingerprint)
            .withScope(ProcessSpec.Scope.PROCESS)
            .withGrace(GRACE);
    Path socket = root.resolve(RuntimeConfiguration.SOCKET.toString().substring(1));
    return Child.start(
        processes,
        new ChildPlan(
            spec, new RuntimeProcess(socket, state, serving), PATIENCE, new LogfmtConverter()));
  }

  @Override
  public boolean ready(ManagedProcess process) {
    return RuntimeProbe.answers(socket, READY_ANSWER);
  }

  @Override
  public boolean answers(ManagedProcess process) {
    return RuntimeProbe.answers(socket, ANSWER);
  }

  @Override
  public void silent(ManagedProcess process, String text, boolean answered) {
    state.starting(
        "an answer: %s; after %d s it is ended and started again, and containers run on"
            .formatted(text, PATIENCE.hanging().toSeconds()));
  }

  @Override
  public void heard() {
    state.serve(serving);
  }
}
