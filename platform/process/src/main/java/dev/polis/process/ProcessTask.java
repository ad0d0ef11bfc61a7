package dev.polis.process;

import dev.polis.boot.StopReason;
import dev.polis.event.Watcher;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

/**
 * Runs a child process as a runnable: starts or adopts it, is healthy once its probe passes,
 * delivers its log to the runnable's journal, and fails when the process ends.
 *
 * <p>When the runnable is stopped for a reason that ends work, it stops the process and all its
 * descendants and deletes the record. Otherwise cancelling it leaves the process running, and the
 * next run adopts it. See {@link StopReason}.
 */
public final class ProcessTask implements Task {
  /** Readiness is noticed within a fifth of a second; an end at once, and lines as LogTail says. */
  private static final Duration POLL = Duration.ofMillis(200);

  private final ProcessManager processes;
  private final ProcessSpec spec;
  private final ReadyProbe probe;
  private final LineConverter converter;

  /**
   * Makes a task for one process.
   *
   * @param probe asked until it passes
   * @param converter of the program's log format
   */
  public ProcessTask(
      ProcessManager processes, ProcessSpec spec, ReadyProbe probe, LineConverter converter) {
    this.processes = processes;
    this.spec = spec;
    this.probe = probe;
    this.converter = converter;
  }

  @Override
  public void run(Context context) throws Exception {
    try {
      serve(context);
    } finally {
      // However the run ends: an interrupt in the midst of a file operation is an IOException, and
      // a start that was interrupted may have come to pass.
      stopIfWanted(context);
    }
  }

  private void serve(Context context) throws InterruptedException, IOException {
    ManagedProcess process = processes.ensure(spec);
    try (LogTail tail = processes.tail(process, context.dn(), converter);
        Watcher<ProcessStatus> status = process.status().watch()) {
      ProcessStatus end;
      try {
        end = follow(context, tail, status);
      } finally {
        if (stopIfWanted(context)) {
          tail.finish();
        }
      }
      tail.finish();
      throw new ProcessException(
          "%s ended: %s; see the end of its log %s".formatted(process, end.text(), process.log()));
    }
  }

  /** Stops the process if the reason of the cancellation asks for it; returns whether it did. */
  private boolean stopIfWanted(Context context) throws InterruptedException {
    boolean wanted = context.stopReason().filter(StopReason::endsWork).isPresent();
    if (wanted) {
      // What is left to do is short and must be done; the run ends in any case.
      Thread.interrupted();
      processes.stop(spec.name());
    }
    return wanted;
  }

  private ProcessStatus follow(Context context, LogTail tail, Watcher<ProcessStatus> status)
      throws InterruptedException, IOException {
    boolean healthy = false;
    while (true) {
      tail.poll();
      if (!healthy && probe.ready()) {
        context.healthy();
        healthy = true;
      }
      try {
        return status.get(
            state -> !(state instanceof ProcessStatus.Running), healthy ? tail.pause() : POLL);
      } catch (TimeoutException stillRunning) {
        // The usual case: poll again.
      }
    }
  }
}
