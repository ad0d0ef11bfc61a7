package dev.polis.process;

import dev.polis.base.values.Watcher;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * Manages one child process: starts or adopts it, delivers its log, waits until it is ready, ends
 * it if it hangs, and explains its end. A close leaves the process running. One thread uses it,
 * except for {@link #deliverLog}.
 *
 * <p>It restarts nothing: its owner fails with its result or exception, and supervision restarts
 * the owner, with growing pauses.
 */
public final class Child implements AutoCloseable {

  /** The interval between requests to a silent child, so that its next answer is noticed soon. */
  private static final Duration AGAIN = Duration.ofSeconds(1);

  /**
   * The interval between checks until a child is ready. etcd is ready some 60 ms after its start,
   * containerd after 150 ms, and a failed connection costs microseconds.
   */
  private static final Duration READY_POLL = Duration.ofMillis(10);

  private final ProcessManager processes;
  private final ChildPlan plan;
  private final ManagedProcess process;
  private final Watcher<ProcessStatus> status;
  private final Silence silence;
  private long nextQuestion;
  private boolean answered;
  private boolean published;

  private Child(ProcessManager processes, ChildPlan plan, ManagedProcess process) {
    this.processes = processes;
    this.plan = plan;
    this.process = process;
    this.status = process.status().watch();
    this.silence = new Silence(() -> plan.program().answers(process));
    askIn(plan.patience().pace());
  }

  /** Starts the process, or adopts a running one of the same spec. */
  public static Child start(ProcessManager processes, ChildPlan plan) throws InterruptedException {
    return new Child(processes, plan, processes.ensure(plan.spec()));
  }

  /** Returns the process. */
  public ManagedProcess process() {
    return process;
  }

  /** Returns whether the process was started or adopted, as text for the log. */
  public String text() {
    return "%s as pid %d".formatted(process.adopted() ? "adopted" : "started", process.pid());
  }

  LogTail tail(String journal) {
    return processes.tail(process, journal, plan.converter());
  }

  /** Delivers the child's log to a journal until the child ends, as a runnable. */
  public void deliverLog(Context log, String journal) throws IOException, InterruptedException {
    try (LogTail tail = tail(journal);
        Watcher<ProcessStatus> ending = process.status().watch()) {
      log.healthy();
      while (!hasEnded(ending, tail.pause())) {
        tail.poll();
      }
      tail.finish();
      log.done();
    }
  }

  /** Checks once whether the child is ready. */
  boolean ready() throws IOException, InterruptedException {
    boolean ready = plan.program().ready(process);
    answered |= ready;
    return ready;
  }

  /**
   * Waits until the child is ready.
   *
   * @throws ProcessException if it ends before, or takes longer
   */
  public void awaitReady(Duration within) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + within.toNanos();
    while (!ready()) {
      if (hasEnded(READY_POLL)) {
        throw explained("%s ended before it was ready (%s)".formatted(process.name(), end()));
      }
      if (System.nanoTime() - deadline > 0) {
        throw explained("%s is not ready after %d s".formatted(process, within.toSeconds()));
      }
    }
  }

  /** Waits at most this long for the end of the child; returns whether it has ended. */
  public boolean hasEnded(Duration within) throws InterruptedException {
    return hasEnded(status, within);
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

  /**
   * Checks whether the child answers, if a check is due, and publishes its silence. Its owner calls
   * it more often than the pace of the patience.
   *
   * @throws ProcessException if it hung and was ended
   */
  public void requireAnswer() throws IOException, InterruptedException {
    if (System.nanoTime() - nextQuestion < 0) {
      return;
    }
    Duration silent = silence.ask();
    if (silent.isZero()) {
      answered = true;
      if (published) {
        published = false;
        plan.program().heard();
      }
      askIn(plan.patience().pace());
      return;
    }
    askIn(AGAIN);
    if (!process.running()) {
      return;
    }
    if (silent.compareTo(plan.patience().silent()) > 0) {
      published = true;
      String text = Silence.text(process.name(), Optional.of(process.pid()), silent);
      plan.program().silent(process, text, answered);
    }
    if (silent.compareTo(answered ? plan.patience().hanging() : plan.patience().starting()) > 0) {
      process.stop();
      throw explained(
          "%s did not answer for %d s and was ended".formatted(process, silent.toSeconds()));
    }
  }

  private void askIn(Duration pause) {
    nextQuestion = System.nanoTime() + pause.toNanos();
  }

  /** Returns the failure of an ended child. */
  public ProcessException ended() throws IOException, InterruptedException {
    if (process.status().peek().orElseThrow() instanceof ProcessStatus.Exited how && how.killed()) {
      // A killed process has no last line about its end in the log.
      return new ProcessException(
          "%s ended: %s; %s".formatted(process, how.text(), KernelLog.killer(process.pid())));
    }
    return explained(
        "%s ended: %s; see the end of its log %s".formatted(process, end(), process.log()));
  }

  private String end() {
    return process.status().peek().orElseThrow().text();
  }

  private ProcessException explained(String fact) throws IOException, InterruptedException {
    return new ProcessException(
        "%s%s; its log says: %s"
            .formatted(fact, plan.program().hint(process), plan.program().lastWords(process)));
  }

  @Override
  public void close() {
    status.close();
  }
}
