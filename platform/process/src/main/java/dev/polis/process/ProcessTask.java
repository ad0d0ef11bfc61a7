package dev.polis.process;

import dev.polis.base.boot.StopReason;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;

/**
 * Runs a child process as a runnable: starts or adopts it, is healthy once it is ready, delivers
 * its log to the runnable's journal, and fails when the process ends or hangs.
 *
 * <p>When the runnable is stopped for a reason that ends work, it stops the process and all its
 * descendants and deletes the record. Otherwise a cancellation leaves the process running, and the
 * next run adopts it. See {@link StopReason}.
 */
public final class ProcessTask implements Task {
  /** The interval of checks for readiness. */
  private static final Duration POLL = Duration.ofMillis(200);

  /** The pace of checks of a program without a check, which counts as answering. */
  private static final Duration UNASKED = Duration.ofHours(1);

  private final ProcessManager processes;
  private final ChildPlan plan;

  /** Makes a task for one process; a hanging process is ended, and the task fails. */
  public ProcessTask(ProcessManager processes, ChildPlan plan) {
    this.processes = processes;
    this.plan = plan;
  }

  /**
   * Makes a task for one process that is not checked after it is ready.
   *
   * @param probe called until it passes
   * @param converter the converter of the program's log format
   */
  public ProcessTask(
      ProcessManager processes, ProcessSpec spec, ReadyProbe probe, LineConverter converter) {
    this(
        processes,
        new ChildPlan(
            spec, process -> probe.ready(), ChildPlan.Patience.of(UNASKED, UNASKED), converter));
  }

  @Override
  public void run(Context context) throws Exception {
    try {
      serve(context);
    } finally {
      // At each end of the run: an interrupt during a file operation is an IOException, and an
      // interrupted start may have succeeded.
      stopIfWanted(context);
    }
  }

  private void serve(Context context) throws IOException, InterruptedException {
    try (Child child = Child.start(processes, plan);
        LogTail tail = child.tail(context.dn())) {
      try {
        follow(context, child, tail);
      } finally {
        if (stopIfWanted(context) || !child.process().running()) {
          tail.finish();
        }
      }
    }
  }

  /** Stops the process if the reason of the cancellation ends work; returns whether it did. */
  private boolean stopIfWanted(Context context) throws InterruptedException {
    boolean wanted = context.stopReason().filter(StopReason::endsWork).isPresent();
    if (wanted) {
      // The remaining work is short and necessary; the run ends afterwards.
      Thread.interrupted();
      processes.stop(plan.spec().name());
    }
    return wanted;
  }

  private void follow(Context context, Child child, LogTail tail)
      throws IOException, InterruptedException {
    boolean healthy = false;
    do {
      tail.poll();
      if (!healthy && child.ready()) {
        context.healthy();
        healthy = true;
      }
      child.requireAnswer();
    } while (!child.hasEnded(healthy ? tail.pause() : POLL));
    throw child.ended();
  }
}
