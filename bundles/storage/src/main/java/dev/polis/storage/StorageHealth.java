package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.health.HealthCondition;
import java.util.Optional;

/** Says what a status of the data volume means for the health of this organ. */
final class StorageHealth {

  private StorageHealth() {}

  static Optional<HealthCondition> of(DataStatus status) {
    return switch (status) {
      case DataStatus.Mounted mounted -> Optional.empty();
      case DataStatus.NotMounted(String reason) ->
          Optional.of(
              HealthCondition.waiting(
                  "volume-not-mounted", "the data volume is not mounted: " + reason));
    };
  }
}
