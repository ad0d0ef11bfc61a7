package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.RecoveryStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.supervision.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;

/**
 * Publishes the protection of the data volume, and the owner's next repair, as conditions of the
 * organ's health.
 */
final class StorageHealth {

  /** The condition about the protection of the volume, and the needs of a stronger one. */
  static final String SECURITY = "volume-security";

  private static final String NOT_MOUNTED = "volume-not-mounted";
  private static final String LOST = "volume-lost";

  // The owner's files change without a notification; a person waits this long for a screen.
  private static final Duration LOOK_EVERY = Duration.ofSeconds(2);

  private final Storage storage;
  private final HealthScope scope;
  private final Set<String> published = new HashSet<>();
  private boolean wasMounted;

  StorageHealth(Storage storage, HealthScope scope) {
    this.storage = storage;
    this.scope = scope;
  }

  /** Follows the volume until it is cancelled. */
  void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<DataStatus> watcher = storage.data().watch()) {
      DataStatus now = watcher.get();
      while (true) {
        publish(conditions(now));
        now = next(watcher, now);
      }
    }
  }

  private static DataStatus next(Watcher<DataStatus> watcher, DataStatus present)
      throws InterruptedException {
    try {
      return watcher.get(_ -> true, LOOK_EVERY);
    } catch (TimeoutException e) {
      return present;
    }
  }

  private List<HealthCondition> conditions(DataStatus status) {
    return switch (status) {
      case DataStatus.Mounted mounted -> {
        wasMounted = true;
        yield ofMounted(mounted, storage.recovery());
      }
      case DataStatus.NotMounted(String reason) when wasMounted ->
          List.of(
              HealthCondition.down(
                  LOST,
                  "the data volume is gone: " + reason,
                  "stop the node with polis down and start it again with polis up, which mounts it"));
      case DataStatus.NotMounted(String reason) ->
          List.of(
              HealthCondition.waiting(NOT_MOUNTED, "the data volume is not mounted: " + reason));
    };
  }

  static List<HealthCondition> ofMounted(DataStatus.Mounted mounted, RecoveryStatus recovery) {
    List<HealthCondition> conditions = new ArrayList<>();
    conditions.add(HealthCondition.up(SECURITY, "the data volume is " + mounted.describe()));
    recovery
        .advice()
        .ifPresent(
            advice ->
                conditions.add(
                    HealthCondition.degraded(advice.code(), advice.reason(), advice.remedy())));
    return conditions;
  }

  private void publish(List<HealthCondition> conditions) {
    Set<String> gone = new HashSet<>(published);
    for (HealthCondition condition : conditions) {
      scope.set(condition);
      published.add(condition.code());
      gone.remove(condition.code());
    }
    gone.forEach(scope::clear);
    published.removeAll(gone);
  }
}
