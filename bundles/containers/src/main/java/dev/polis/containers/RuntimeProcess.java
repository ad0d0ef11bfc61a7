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
 * Describes containerd as a child process: its command, its probe, and the effect of its silence on
 * the organ's status.
 *
 * @param socket its socket, as this process sees it
 * @param serving the status while it answers
 */
record RuntimeProcess(Path socket, ContainersState state, ContainersStatus.Running serving)
    implements ChildProgram {

  /** The name of the process, and of the journal below the organ's for its output. */
  static final String NAME = "containerd";

  /** The time for the first answer, which follows a moment after the first accepted connection. */
  private static final Duration READY_ANSWER = Duration.ofSeconds(1);

  /** The time for an answer: a millisecond normally, and seconds on a machine that swaps. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /**
   * The limits of containerd's silence: a check every ten seconds, since a stopped containerd does
   * no harm for that long. The first missed answer changes the status; after two more the node ends
   * it.
   */
  private static final ChildPlan.Patience PATIENCE =
      new ChildPlan.Patience(
          Duration.ofSeconds(10), Duration.ZERO, Duration.ofSeconds(25), Duration.ofSeconds(25));

  /**
   * The grace of containerd, which ends in milliseconds, because its containers are not its
   * children.
   */
  private static final Duration GRACE = Duration.ofSeconds(5);

  /** The form of containerd's message about a failed part and its cause. */
  private static final Pattern FAILURE =
      Pattern.compile("msg=\"failed to load plugin\" error=\"((?:[^\"\\\\]|\\\\.)*)\" id=(\\S+)");

  /**
   * Returns the part of containerd that failed first in its log, since the parts that need it fail
   * after it.
   */
  static Optional<String> firstFailure(String log) {
    return FAILURE
        .matcher(log)
        .results()
        .findFirst()
        .map(found -> "its part %s says: %s".formatted(found.group(2), found.group(1)));
  }

  /**
   * Starts containerd, or adopts a running one with the same command line.
   *
   * @param root the path of the sandbox's {@code /}, as this process sees it
   * @param fingerprint the fingerprint of the program and its configuration
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
        "an answer: %s; after %d s the node ends it and starts it again; containers keep running"
            .formatted(text, PATIENCE.hanging().toSeconds()));
  }

  @Override
  public void heard() {
    state.serve(serving);
  }
}
