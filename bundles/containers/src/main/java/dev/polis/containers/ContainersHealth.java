package dev.polis.containers;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.health.HealthCondition;
import java.util.Optional;

/** Derives the health of this organ from the status of the runtime. */
final class ContainersHealth {

  private ContainersHealth() {}

  /** Returns the condition to repair; a runtime that no role needs is healthy. */
  static Optional<HealthCondition> of(ContainersStatus status) {
    return switch (status) {
      case ContainersStatus.Stopped _, ContainersStatus.Running _ -> Optional.empty();
      case ContainersStatus.Starting(String waitingFor) ->
          Optional.of(
              HealthCondition.waiting(
                  "containers-starting", "the container runtime waits for " + waitingFor));
      case ContainersStatus.Failed(String reason) ->
          Optional.of(
              HealthCondition.down(
                  "containers-failed",
                  "the container runtime does not start: " + reason + "; the node starts it again",
                  ""));
    };
  }
}
