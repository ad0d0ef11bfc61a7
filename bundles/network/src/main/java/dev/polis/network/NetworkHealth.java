package dev.polis.network;

import dev.polis.api.network.NetworkStatus;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import java.util.Optional;

/** Says what a status of the network means for the health of this organ. */
final class NetworkHealth {

  private NetworkHealth() {}

  static Optional<HealthCondition> of(NetworkStatus status) {
    return switch (status) {
      case NetworkStatus.Up up -> Optional.empty();
      case NetworkStatus.Waiting(String reason) ->
          Optional.of(
              new HealthCondition(
                  HealthLevel.WAITING,
                  "no-address",
                  "this node has no address: " + reason,
                  "give that address to an interface that is up (ip addr add ADDRESS dev NAME), or start the node with"
                      + " another --address; ip -br addr shows those of this machine"));
    };
  }
}
