package dev.polis.network;

import dev.polis.api.network.NetworkStatus;
import dev.polis.health.HealthCondition;
import java.util.Optional;

/** Derives the health of this organ from the status of the network. */
final class NetworkHealth {

  private NetworkHealth() {}

  static Optional<HealthCondition> of(NetworkStatus status) {
    return switch (status) {
      case NetworkStatus.Up up -> Optional.empty();
      case NetworkStatus.Waiting(String reason) ->
          Optional.of(HealthCondition.waiting("no-address", "this node has no address: " + reason));
    };
  }
}
