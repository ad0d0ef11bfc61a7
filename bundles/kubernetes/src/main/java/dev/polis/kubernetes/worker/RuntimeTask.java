package dev.polis.kubernetes.worker;

import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Values;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;

/**
 * Runs the container runtime while the node has the role. It stops the runtime and all containers
 * if the stop reason of this task ends work.
 */
final class RuntimeTask implements Task {

  private static final String WAITS = "container-runtime";

  private final Containers containers;
  private final SandboxRequest request;
  private final HealthScope health;

  RuntimeTask(Containers containers, SandboxRequest request, HealthScope health) {
    this.containers = containers;
    this.request = request;
    this.health = health;
  }

  @Override
  public void run(Context context) throws Exception {
    start(context.log());
    context.healthy();
    try {
      Values.follow(containers.status(), this::publish);
    } finally {
      health.clear(WAITS);
      if (context.stopReason().filter(StopReason::endsWork).isPresent()) {
        containers.stop();
      }
    }
  }

  private void start(Log log) throws InterruptedException {
    try {
      containers.start(request);
    } catch (ContainersException other) {
      log.warning(
          "The container runtime serves another request; the node starts it again: %s",
          other.getMessage());
      containers.stop();
      containers.start(request);
    }
  }

  private void publish(ContainersStatus now) {
    switch (now) {
      case ContainersStatus.Running running -> health.clear(WAITS);
      case ContainersStatus.Failed failed ->
          health.set(
              HealthCondition.down(
                  WAITS, failed.text(), "'polisctl explain containers' shows more"));
      case ContainersStatus.Starting _, ContainersStatus.Stopped _ ->
          health.set(HealthCondition.waiting(WAITS, now.text()));
    }
  }
}
