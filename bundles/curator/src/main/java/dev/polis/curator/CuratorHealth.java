package dev.polis.curator;

import dev.polis.api.curator.CuratorStatus;
import dev.polis.health.HealthCondition;
import java.util.Optional;

/** Derives the health of this organ from the curator's status. */
final class CuratorHealth {

  private CuratorHealth() {}

  static Optional<HealthCondition> of(CuratorStatus status) {
    return switch (status) {
      case CuratorStatus.Leading leading -> Optional.empty();
      case CuratorStatus.Following following -> Optional.empty();
      case CuratorStatus.Idle idle ->
          Optional.of(
              HealthCondition.waiting(
                  "no-identity", "the curator waits until this node is a member of its cluster"));
      case CuratorStatus.Campaigning(String reason) ->
          Optional.of(HealthCondition.waiting("no-leader", "no leader is known: " + reason));
    };
  }
}
