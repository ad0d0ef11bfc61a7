package dev.polis.kubernetes.control;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.convert.KlogConverter;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.LastWords;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessException;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.process.Silence;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.time.Duration;

/**
 * Runs one of Kubernetes' programs as a child process: starts or adopts it, publishes when it does
 * not answer, and ends one that hangs, so that it is started again.
 */
public final class ControlProcess implements Task {

  /** The condition of a program that was never ready since this code runs. */
  private static final String STARTING = "kubernetes-program-starting";

  /** The condition of a program that answered before. */
  private static final String SILENT = "kubernetes-program-silent";

  private static final Duration POLL = Duration.ofSeconds(2);

  /** Two probes may fail on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(6);

  /** What upstream's own manifests give a running program, rounded down from 80 s. */
  private static final Duration HANGING = Duration.ofSeconds(40);

  /** What they give one that starts. */
  private static final Duration STUCK_AT_START = Duration.ofMinutes(4);

  private final ProcessManager processes;
  private final ProcessSpec spec;
  private final ControlProbe probe;
  private final HealthRegistry health;
  private final String role;
  private final LineConverter converter;

  /**
   * Makes the task of one program.
   *
   * @param role whose health it belongs to
   */
  ControlProcess(
      ProcessManager processes,
      ProcessSpec spec,
      ControlProbe probe,
      HealthRegistry health,
      String role) {
    this(processes, spec, probe, health, role, new KlogConverter());
  }

  /** Makes the task of one program that has a log format of its own. */
  public ControlProcess(
      ProcessManager processes,
      ProcessSpec spec,
      ControlProbe probe,
      HealthRegistry health,
      String role,
      LineConverter converter) {
    this.processes = processes;
    this.spec = spec;
    this.probe = probe;
    this.health = health;
    this.role = role;
    this.converter = converter;
  }

  @Override
  public void run(Context context) throws Exception {
    Life life = new Life(LastWords.start(processes.log(spec.name())));
    context.run("watch", life::watch);
    try {
      new ProcessTask(processes, spec, life::ready, converter).run(context);
    } catch (ProcessException ended) {
      // It holds what the other one says, which would be shown twice as its cause.
      throw new ProcessException(life.reason(ended));
    }
  }

  /** The life of one process of the program. */
  private final class Life {

    private volatile long logStart;
    private volatile boolean answered;

    /** How it was found to hang, for which it is ended; empty if it was not. */
    private volatile String hung = "";

    /**
     * @param logStart how long the log was before; an adopted process has written all of it, as far
     *     as is known
     */
    Life(long logStart) {
      this.logStart = logStart;
    }

    boolean ready() throws InterruptedException {
      boolean ready = probe.ready();
      answered |= ready;
      return ready;
    }

    private String lastError() {
      return LastWords.of(processes.log(spec.name()), logStart);
    }

    /** Returns why the process ended, for people. */
    String reason(ProcessException ended) throws InterruptedException {
      String how = hung.isEmpty() ? ended.getMessage() : hung;
      String missing = probe.missing();
      return "%s; the last error in its log: %s%s"
          .formatted(how, lastError(), missing.isEmpty() ? "" : "; " + missing);
    }

    /** Asks again and again whether the program answers. */
    void watch(Context context) throws InterruptedException {
      context.healthy();
      try (HealthScope scope = health.role(role, "")) {
        Silence silence = new Silence(probe::alive);
        while (true) {
          if (processes.find(spec.name()).filter(ManagedProcess::adopted).isPresent()) {
            logStart = 0;
          }
          Duration silent = silence.ask();
          if (silent.isZero()) {
            answered = true;
            scope.clear(STARTING);
            scope.clear(SILENT);
          }
          if (silent.compareTo(PATIENCE) > 0) {
            publish(scope, silent);
          }
          if (silent.compareTo(answered ? HANGING : STUCK_AT_START) > 0) {
            end(context, silent);
          }
          Thread.sleep(POLL);
        }
      }
    }

    private void publish(HealthScope scope, Duration silence) {
      String text =
          "%s; the last error in its log: %s"
              .formatted(
                  Silence.text(
                      spec.name(), processes.find(spec.name()).map(ManagedProcess::pid), silence),
                  lastError());
      scope.set(
          answered
              ? HealthCondition.down(
                  SILENT,
                  text,
                  "nothing: it is started again after %d s of silence"
                      .formatted(HANGING.toSeconds()))
              : HealthCondition.waiting(STARTING, text));
    }

    private void end(Context context, Duration silence) throws InterruptedException {
      hung = "%s did not answer for %d s and was ended".formatted(spec.name(), silence.toSeconds());
      context.log().warning("%s; it is started again", hung);
      processes.stop(spec.name());
      // The run that this one belongs to ends with the process, and this one with it.
      context.awaitCancelled();
    }
  }
}
