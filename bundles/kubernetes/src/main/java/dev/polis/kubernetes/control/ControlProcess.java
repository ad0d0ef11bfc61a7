package dev.polis.kubernetes.control;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.ChildPlan;
import dev.polis.process.ChildProgram;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.time.Duration;

/**
 * Runs one of Kubernetes' programs as a child process: starts or adopts it, reports its silence,
 * and ends and restarts it when it hangs.
 *
 * @param role the role whose health includes it
 * @param converter the converter of its log's format
 */
public record ControlProcess(
    ProcessManager processes,
    ProcessSpec spec,
    ControlProbe probe,
    HealthRegistry health,
    String role,
    LineConverter converter)
    implements Task {

  /** The condition of a program that has not been ready since this code started. */
  private static final String STARTING = "kubernetes-program-starting";

  /** The condition of a program that answered before. */
  private static final String SILENT = "kubernetes-program-silent";

  /**
   * The limits of a program's silence: two checks may fail on a busy machine. Upstream's own
   * manifests allow a running program 80 s, and a starting one four minutes.
   */
  private static final ChildPlan.Patience PATIENCE =
      new ChildPlan.Patience(
          Duration.ofSeconds(2),
          Duration.ofSeconds(6),
          ChildPlan.Patience.HANGING,
          Duration.ofMinutes(4));

  @Override
  public void run(Context context) throws Exception {
    try (HealthScope scope = health.role(role, "")) {
      new ProcessTask(
              processes, new ChildPlan(spec, new Program(probe, scope), PATIENCE, converter))
          .run(context);
    }
  }

  /** Publishes the results of its probe. */
  private static final class Program implements ChildProgram {

    private final ControlProbe probe;
    private final HealthScope scope;

    /** The obstacle of its last answer. */
    private String hindrance = "";

    Program(ControlProbe probe, HealthScope scope) {
      this.probe = probe;
      this.scope = scope;
    }

    @Override
    public boolean ready(ManagedProcess process) throws InterruptedException {
      return probe.ready();
    }

    @Override
    public boolean answers(ManagedProcess process) throws InterruptedException {
      boolean alive = probe.alive();
      hindrance = alive ? "" : hint(process);
      return alive;
    }

    @Override
    public String hint(ManagedProcess process) throws InterruptedException {
      String missing = probe.missing();
      return missing.isEmpty() ? "" : "; " + missing;
    }

    @Override
    public void silent(ManagedProcess process, String text, boolean answered) {
      String why = "%s%s; its log says: %s".formatted(text, hindrance, lastWords(process));
      scope.set(
          answered
              ? HealthCondition.down(
                  SILENT,
                  why,
                  "nothing: the node starts it again after %d s of silence"
                      .formatted(PATIENCE.hanging().toSeconds()))
              : HealthCondition.waiting(STARTING, why));
    }

    @Override
    public void heard() {
      scope.clear(STARTING);
      scope.clear(SILENT);
    }
  }
}
