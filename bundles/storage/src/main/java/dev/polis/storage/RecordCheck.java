package dev.polis.storage;

import dev.polis.health.HealthCondition;
import dev.polis.health.SelfCheck;
import dev.polis.process.ProcessManager;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/**
 * Restores the records of child processes that something deleted, and shows the last restoration
 * until the organ stops.
 */
final class RecordCheck implements SelfCheck.Look {

  private static final String RESTORED = "process-records-restored";

  private final ProcessManager processes;
  private final InstantSource clock;

  /** The last restoration; null before the first one. */
  private HealthCondition shownOrNull;

  RecordCheck(ProcessManager processes, InstantSource clock) {
    this.processes = processes;
    this.clock = clock;
  }

  @Override
  public Optional<HealthCondition> look() throws InterruptedException {
    List<String> restored = processes.restoreRecords();
    if (!restored.isEmpty()) {
      shownOrNull =
          HealthCondition.up(
              RESTORED,
              "the records of child processes were deleted, and the node wrote those of %s again at %s; the output of these programs is lost until they start again"
                  .formatted(
                      String.join(", ", restored),
                      clock.instant().truncatedTo(ChronoUnit.SECONDS)));
    }
    return Optional.ofNullable(shownOrNull);
  }
}
