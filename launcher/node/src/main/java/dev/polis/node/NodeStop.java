package dev.polis.node;

import dev.polis.base.posix.Mounts.Mount;
import dev.polis.node.cleanup.SandboxRemains;
import dev.polis.node.cleanup.StateMounts;
import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.node.exit.RootCause;
import dev.polis.process.ForgottenProcess;
import dev.polis.process.ProcessRecord;
import dev.polis.process.ProcessRecords;
import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Powers one node off, and clears away what it left: also when its process was killed long ago,
 * hangs, or can write nothing. It ends within two minutes, if the kernel unmounts the volume at
 * once.
 *
 * @param directory of the node
 * @param timeout how many seconds the node may take
 * @param prefix begins each line about this node; empty for a single one
 * @param err gets the lines
 */
record NodeStop(NodeDirectory directory, long timeout, String prefix, PrintWriter err) {
  /**
   * These serve mounts: ended before the unmount, they would take what is not yet written with
   * them.
   */
  private static final Set<String> VOLUME_SERVERS = Set.of("qemu-storage-daemon", "gocryptfs");

  /** A long stop says once in this time that it still lasts. */
  private static final int TELL_SECONDS = 5;

  /** A process that gives up its organs may take this long to end. */
  private static final Duration SPARE = Duration.ofSeconds(10);

  /** A killed process goes at once, unless a dead disk keeps it in the kernel. */
  private static final Duration KILLED = Duration.ofSeconds(5);

  /** All children together may take this long; etcd and its like need less than a second each. */
  private static final Duration CHILDREN = Duration.ofSeconds(30);

  /** A child gets at least this time, though others before it took all of it. */
  private static final Duration LEAST_GRACE = Duration.ofSeconds(2);

  /** All of it may take this long; the time to write a volume back comes on top. */
  static final Duration WITHIN = StopLimit.DEFAULT.plus(SPARE).plus(KILLED).plus(CHILDREN);

  /** The time that a process gets, unless the caller gives it another one. */
  static long defaultTimeout() {
    return StopLimit.DEFAULT.plus(SPARE).toSeconds();
  }

  /** Stops the node. */
  void run() throws IOException, InterruptedException, Refusal {
    Optional<ProcessHandle> running = StateLock.running(directory);
    Instant began = Instant.now();
    if (running.isPresent()) {
      stop(running.get());
    }
    // From here on no node may start in between.
    try (StateLock _ = StateLock.takeToClear(directory)) {
      sweep();
    }
    crashSince(began).ifPresent(crash -> say(crash + "; the stacks are in " + directory.crash()));
    say(running.isPresent() ? "stopped" : "no node was running");
  }

  void requireState() throws Refusal {
    if (!Files.isDirectory(directory.root())) {
      throw new Refusal(
          directory.root()
              + " is no state directory: it does not exist; give the --state the node was started with");
    }
  }

  /** Asks for confirmation, on a terminal, before the owner is locked out; without one, refuses. */
  void confirmLockOut() throws IOException, Refusal {
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
    String answer = console.readLine("Stop it, and lose the data on the volume? y/N ");
    if (answer == null || !answer.strip().equalsIgnoreCase("y")) {
      throw new Refusal("not stopped, as you wish");
    }
  }

  private void stop(ProcessHandle node) throws InterruptedException, Refusal {
    say("stopping process " + node.pid());
    HungProcess process = new HungProcess(directory, node.pid());
    process.words().ifPresent(this::say);
    try {
      Files.writeString(directory.powerOff(), "");
    } catch (IOException e) {
      say(
          "the process does not learn that its children end, too, since %s can not be written (%s); they are ended from here"
              .formatted(directory.powerOff(), RootCause.of(e)));
    }
    node.destroy();
    for (long waited = 0; waited < timeout; waited += TELL_SECONDS) {
      if (ends(node, Duration.ofSeconds(Math.min(TELL_SECONDS, timeout - waited)))) {
        return;
      }
      say(
          "waiting for process %d to stop its organs (%d of at most %d s)"
              .formatted(node.pid(), Math.min(waited + TELL_SECONDS, timeout), timeout));
    }
    String hangs =
        "process %d did not end within %d s of being asked, and was ended"
            .formatted(node.pid(), timeout);
    String found = process.words().map(words -> hangs + "; " + words).orElse(hangs);
    String record = FatalErrorReport.record(Instant.now(), "launcher", found, process.threads());
    try {
      Node.keepCrash(directory, record);
    } catch (IOException e) {
      say(directory.crash() + " can not be written: " + RootCause.of(e));
      say(record);
    }
    node.destroyForcibly();
    if (!ends(node, KILLED)) {
      throw new Refusal(
          Exit.FAILED,
          "process %d is still there %d s after SIGKILL: stuck in the kernel, check its disk and mounts; its children run on"
              .formatted(node.pid(), KILLED.toSeconds()),
          null);
    }
  }

  private static boolean ends(ProcessHandle process, Duration within) throws InterruptedException {
    return BootProgress.within(within, process.onExit()).isPresent();
  }

  /**
   * Returns the first line of a crash record that was written since then: by whom, is said in it.
   */
  private Optional<String> crashSince(Instant began) {
    try {
      return Files.getLastModifiedTime(directory.crash()).toInstant().isBefore(began)
          ? Optional.empty()
          : Node.firstLine(directory.crash());
    } catch (IOException none) {
      return Optional.empty();
    }
  }

  private void sweep() throws IOException, InterruptedException, Refusal {
    endChildren();
    List<ForgottenProcess> forgotten = forgotten();
    endForgotten(forgotten, false);
    // Before the unmount: the record of it lies on the volume, and its mounts hold the volume.
    List<String> remains = new SandboxRemains(directory.layout().data().path(), this::say).remove();
    StateMounts.unmount(directory.root(), this::say);
    StateMounts.detachLoops(directory.root(), this::say);
    // A volume that lies on a mount could not be unmounted before its loop device was detached.
    List<Mount> left = StateMounts.unmount(directory.root(), this::say);
    if (!left.isEmpty()) {
      String points =
          left.stream().map(mount -> mount.point().toString()).collect(Collectors.joining(", "));
      throw new Refusal(
          Exit.FAILED,
          "still mounted: " + points + "; find its users with \"fuser -vm\", then stop again",
          null);
    }
    endForgotten(forgotten, true);
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
    return !record.command().isEmpty() && servesVolume(record.command().getFirst());
  }

  private static boolean servesVolume(String program) {
    return VOLUME_SERVERS.contains(Path.of(program).getFileName().toString());
  }

  /** Finds children whose records were deleted, with the folder ephemeral/ for example. */
  private List<ForgottenProcess> forgotten() throws IOException {
    Path root = directory.root();
    return ForgottenProcess.find(root.toRealPath().resolve(root.relativize(directory.processes())));
  }

  private void endForgotten(List<ForgottenProcess> processes, boolean ofVolumes)
      throws InterruptedException {
    for (ForgottenProcess process : processes) {
      if (servesVolume(process.program()) == ofVolumes) {
        say(
            "stopping %s (process %d), whose record in %s was deleted"
                .formatted(process.name(), process.pid(), directory.processes()));
        process.end();
      }
    }
  }

  /** Ends the children that serve no volume: what was started last ends first. */
  private void endChildren() throws InterruptedException {
    long last = System.nanoTime() + CHILDREN.toNanos();
    List<ProcessRecord> children =
        ProcessRecords.list(directory.processes()).stream()
            .filter(record -> record.alive() && !servesVolume(record))
            .sorted(Comparator.comparingLong(ProcessRecord::startTicks).reversed())
            .toList();
    for (ProcessRecord record : children) {
      say("stopping " + record.name() + " (process " + record.pid() + ")");
      long left = Math.max(last - System.nanoTime(), LEAST_GRACE.toNanos());
      ProcessRecords.end(
          record, Duration.ofNanos(Math.min(left, record.graceMillis() * 1_000_000)));
    }
  }

  private void say(String text) {
    err.println("polis: " + prefix + text);
  }
}
