package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Sandbox;
import dev.polis.event.Watcher;
import dev.polis.logtree.convert.LogfmtConverter;
import dev.polis.process.LastWords;
import dev.polis.process.LogTail;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessStatus;
import dev.polis.process.Silence;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * Starts or adopts containerd, waits until it answers, and explains how it ended. Closing it leaves
 * containerd running. Belongs to one thread, except for {@link #deliverLog}.
 */
final class RuntimeProcess implements AutoCloseable {

  /** The name of the process, and of the journal under the organ's that gets its lines. */
  static final String NAME = "containerd";

  // It is up after about 150 ms, so that a slower pace would be most of the wait.
  private static final Duration READY_POLL = Duration.ofMillis(20);

  /** While it starts it takes connections a moment before it answers. */
  private static final Duration READY_ANSWER = Duration.ofSeconds(1);

  /** Its end is an event; this is how often its answers and the sandbox are looked at. */
  private static final Duration PACE = Duration.ofSeconds(1);

  /** Whether it answers is asked each tenth time: a second of a stopped containerd does no harm. */
  private static final int ASK_EVERY = 10;

  /** It answers in a millisecond; on a machine that swaps, in seconds. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /** One that is silent is given this in addition before it is ended. */
  private static final Duration LAST_CHANCE = Duration.ofSeconds(10);

  /** containerd ends in milliseconds: its containers are not its own. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final ProcessManager processes;
  private final ManagedProcess process;
  private final Path socket;
  private final long logStart;
  private final Watcher<ProcessStatus> status;
  private long pauses;

  private RuntimeProcess(
      ProcessManager processes, ManagedProcess process, Path socket, long logStart) {
    this.processes = processes;
    this.process = process;
    this.socket = socket;
    this.logStart = logStart;
    this.status = process.status().watch();
  }

  /**
   * Starts containerd, or adopts the one that runs from the same command line.
   *
   * @param root what is {@code /} inside the sandbox, seen from here
   * @param fingerprint of the program and its configuration
   */
  static RuntimeProcess start(
      ProcessManager processes,
      Sandbox sandbox,
      List<String> command,
      Path root,
      String fingerprint)
      throws InterruptedException {
    ProcessSpec spec =
        ProcessSpec.of(NAME, sandbox.command(command))
            .withEnvironment(Map.of("PATH", sandbox.path(), "HOME", "/root"))
            .withFingerprint(fingerprint)
            .withScope(ProcessSpec.Scope.PROCESS)
            .withGrace(GRACE);
    Path socket = root.resolve(RuntimeConfiguration.SOCKET.toString().substring(1));
    // What an earlier containerd has logged is not the reason why this one ends.
    long before = LastWords.start(processes.log(NAME));
    ManagedProcess process = processes.ensure(spec);
    return new RuntimeProcess(processes, process, socket, process.adopted() ? 0 : before);
  }

  /** Returns whether it was found running. */
  boolean adopted() {
    return process.adopted();
  }

  /** Returns what runs, for the log. */
  String text(RuntimeVersion version) {
    return "containerd %s %s as pid %d"
        .formatted(version, process.adopted() ? "adopted" : "started", process.pid());
  }

  /** Delivers containerd's log to its journal until it ends. */
  void deliverLog(Context log, String journal) throws IOException, InterruptedException {
    try (LogTail tail = processes.tail(process, journal, new LogfmtConverter());
        Watcher<ProcessStatus> ending = process.status().watch()) {
      log.healthy();
      while (!hasEnded(ending, tail.pause())) {
        tail.poll();
      }
      tail.finish();
      log.done();
    }
  }

  /**
   * Waits until containerd takes connections.
   *
   * @throws ContainersException if it ends before, or takes longer
   */
  void awaitReady(Duration within) throws InterruptedException {
    long deadline = System.nanoTime() + within.toNanos();
    while (!RuntimeProbe.answers(socket, READY_ANSWER)) {
      if (hasEnded(status, READY_POLL)) {
        throw new ContainersException(
            "containerd ended before it was ready (%s); its log says: %s"
                .formatted(howItEnded(), lastLine()));
      }
      if (System.nanoTime() > deadline) {
        throw new ContainersException(
            "containerd (pid %d) is not ready after %d s; its log says: %s"
                .formatted(process.pid(), within.toSeconds(), lastLine()));
      }
    }
  }

  /** Waits a moment; returns whether containerd has ended meanwhile. */
  boolean hasEnded() throws InterruptedException {
    return hasEnded(status, PACE);
  }

  /** Returns whether containerd runs and does not answer; asks only now and then. */
  boolean isSilent() throws InterruptedException {
    pauses++;
    return pauses % ASK_EVERY == 0
        && !RuntimeProbe.answers(socket, ANSWER)
        && !hasEnded(status, Duration.ZERO);
  }

  /** Describes the wait for a silent containerd. */
  String silence() {
    return "an answer: %s; after %d s it is ended and started again"
        .formatted(
            Silence.text(NAME, Optional.of(process.pid()), ANSWER),
            ANSWER.plus(LAST_CHANCE).toSeconds());
  }

  /**
   * Ends a silent containerd if it still does not answer.
   *
   * @return whether it answers again; if not, it has ended by itself
   * @throws ContainersException if it was ended
   */
  boolean awaitAnswer() throws InterruptedException {
    if (RuntimeProbe.answers(socket, LAST_CHANCE)) {
      return true;
    }
    if (hasEnded(status, Duration.ZERO)) {
      return false;
    }
    process.stop();
    throw new ContainersException(
        "containerd (pid %d) did not answer for %d s and was ended; containers run on"
            .formatted(process.pid(), ANSWER.plus(LAST_CHANCE).toSeconds()));
  }

  private boolean hasEnded(Watcher<ProcessStatus> ending, Duration within)
      throws InterruptedException {
    try {
      ending.get(now -> !(now instanceof ProcessStatus.Running), within);
      return true;
    } catch (TimeoutException stillRunning) {
      return !process.running();
    }
  }

  /** Returns the failure of a containerd that ended while it served. */
  ContainersException endedWhileServing() {
    return new ContainersException(
        "containerd (pid %d) ended: %s; its log says: %s"
            .formatted(process.pid(), howItEnded(), lastLine()));
  }

  private String howItEnded() {
    return process.status().peek().orElseThrow().text();
  }

  private String lastLine() {
    return LastWords.of(process.log(), logStart);
  }

  @Override
  public void close() {
    status.close();
  }
}
