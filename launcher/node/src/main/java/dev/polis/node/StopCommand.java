package dev.polis.node;

import dev.polis.posix.Mounts.Mount;
import dev.polis.process.ProcessRecord;
import dev.polis.process.ProcessRecords;
import java.io.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Powers a node off, and clears away what it left: also when its process was killed long ago. */
@Command(name = "stop", description = "Power a node off: stop it, its children and its mounts.")
final class StopCommand implements Callable<Integer> {
  /**
   * These serve mounts: ended before the unmount, they would take what is not yet written with
   * them.
   */
  private static final Set<String> VOLUME_SERVERS = Set.of("qemu-storage-daemon", "gocryptfs");

  /** How often a long stop says that it still lasts. */
  private static final int TELL_SECONDS = 5;

  @Option(
      names = "--state",
      required = true,
      paramLabel = "DIR",
      description = "State directory of the node.")
  private Path state;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "120",
      description = "How long the node may take; default ${DEFAULT-VALUE}.")
  private long timeout;

  @Option(
      names = "--anyway",
      description = "Power off even if nothing opens the data volume afterwards.")
  private boolean anyway;

  @Override
  public Integer call() throws Exception {
    NodeDirectory directory = NodeDirectory.of(state);
    if (!Files.isDirectory(directory.root())) {
      throw new Refusal(
          directory.root()
              + " is no state directory: it does not exist; give the --state the node was started with");
    }
    if (!anyway) {
      confirmLockOut(directory);
    }
    Optional<ProcessHandle> running = StateLock.running(directory);
    if (running.isPresent()) {
      stop(directory, running.get());
    }
    // From here on no node may start in between.
    try (StateLock _ = StateLock.take(directory)) {
      sweep(directory);
    }
    say(running.isPresent() ? "stopped" : "no node was running");
    return Exit.OK;
  }

  /** Asks for confirmation, on a terminal, before the owner is locked out; without one, refuses. */
  private static void confirmLockOut(NodeDirectory directory) throws IOException, Refusal {
    Optional<String> reason = LockOut.of(directory);
    if (reason.isEmpty()) {
      return;
    }
    Console console = System.console();
    if (console == null || !console.isTerminal()) {
      throw new Refusal(
          "not stopped: " + reason.get() + "; \"polis down --anyway\" stops it all the same");
    }
    say(reason.get());
    String answer = console.readLine("Stop it, and lose what is on the volume? y/N ");
    if (answer == null || !answer.strip().equalsIgnoreCase("y")) {
      throw new Refusal("not stopped, as you wish");
    }
  }

  private void stop(NodeDirectory directory, ProcessHandle node)
      throws IOException, InterruptedException, Refusal {
    say("stopping process " + node.pid());
    Files.writeString(directory.powerOff(), "");
    node.destroy();
    for (long waited = 0; waited < timeout; waited += TELL_SECONDS) {
      try {
        node.onExit().get(TELL_SECONDS, TimeUnit.SECONDS);
        return;
      } catch (TimeoutException e) {
        say(
            "waiting for process "
                + node.pid()
                + " to stop its organs ("
                + (waited + TELL_SECONDS)
                + " s)");
      } catch (ExecutionException e) {
        throw new IllegalStateException("the exit of a process is never exceptional", e);
      }
    }
    throw new Refusal(
        Exit.FAILED,
        "process "
            + node.pid()
            + " did not stop within "
            + timeout
            + " s; look at its output, or end it with \"kill -9 "
            + node.pid()
            + "\" and stop again",
        null);
  }

  private static void sweep(NodeDirectory directory)
      throws IOException, InterruptedException, Refusal {
    for (ProcessRecord record : ProcessRecords.list(directory.processes())) {
      if (record.alive() && !servesVolume(record)) {
        say("stopping " + record.name() + " (process " + record.pid() + ")");
        end(record);
      }
    }
    // Before the unmount: the record of it lies on the volume, and its mounts hold the volume.
    List<String> remains = new SandboxRemains(directory.data(), StopCommand::say).remove();
    StateMounts.unmount(directory.root(), StopCommand::say);
    StateMounts.detachLoops(directory.root(), StopCommand::say);
    // A volume that lies on a mount could not be unmounted before its loop device was detached.
    List<Mount> left = StateMounts.unmount(directory.root(), StopCommand::say);
    if (!left.isEmpty()) {
      String points =
          left.stream().map(mount -> mount.point().toString()).collect(Collectors.joining(", "));
      throw new Refusal(
          Exit.FAILED,
          "still mounted: " + points + "; find who uses it with \"fuser -vm\", then stop again",
          null);
    }
    for (ProcessRecord record : ProcessRecords.stopAll(directory.processes())) {
      say("stopped " + record.name() + " (process " + record.pid() + ")");
    }
    if (!remains.isEmpty()) {
      throw new Refusal(
          Exit.FAILED,
          "of Kubernetes' worker there is still: "
              + String.join("; ", remains)
              + "; stop again, or restart the machine",
          null);
    }
  }

  private static boolean servesVolume(ProcessRecord record) {
    return !record.command().isEmpty()
        && VOLUME_SERVERS.contains(Path.of(record.command().getFirst()).getFileName().toString());
  }

  private static void end(ProcessRecord record) throws InterruptedException {
    Optional<ProcessHandle> process = ProcessHandle.of(record.pid());
    if (process.isEmpty()) {
      return;
    }
    process.get().destroy();
    try {
      process.get().onExit().get(record.graceMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      process.get().destroyForcibly();
    } catch (ExecutionException e) {
      throw new IllegalStateException("the exit of a process is never exceptional", e);
    }
  }

  private static void say(String text) {
    System.err.println("polis: " + text);
  }
}
