package dev.polis.cluster;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.health.HealthCondition;
import java.util.Optional;

/** Says what a status of the cluster means for the health of this organ. */
final class ClusterHealth {

  private ClusterHealth() {}

  static Optional<HealthCondition> of(ClusterStatus status) {
    return switch (status.state()) {
      case HOME -> Optional.empty();
      case UNKNOWN, FOREIGN, TRUSTED ->
          Optional.of(HealthCondition.waiting("not-a-member", text(status)));
      case SPLIT ->
          Optional.of(
              HealthCondition.degraded(
                  "no-contact-to-consensus",
                  text(status),
                  "it returns by itself; see the log of root.consensus"));
      case DISOWNING -> Optional.of(HealthCondition.down("disowned", text(status), ""));
    };
  }

  private static String text(ClusterStatus status) {
    return status.state().meaning() + ": " + status.reason();
  }
}
