package dev.polis.storage;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.process.Silence;
import dev.polis.supervision.Context;
import java.time.Duration;
import java.util.Optional;

/**
 * Publishes that a signal has stopped a program of the volume. It reads only the kernel's state,
 * since a read of the volume would block like all other reads and writes.
 */
final class DaemonHealth {

  private static final String STOPPED = "volume-daemon-stopped";

  /** The prefix of the names of all programs of volumes. */
  private static final String VOLUME = "volume-";

  private static final Duration LOOK_EVERY = Duration.ofSeconds(2);

  /** The time after which a stopped program is reported, the same as for other children. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final ProcessManager processes;
  private final HealthScope scope;

  DaemonHealth(ProcessManager processes, HealthScope scope) {
    this.processes = processes;
    this.scope = scope;
  }

  /** Repeats the check until it is cancelled. */
  void run(Context context) throws InterruptedException {
    context.healthy();
    Silence silence = new Silence(() -> stopped().isEmpty());
    while (true) {
      Duration lasts = silence.ask();
      Optional<ProcessRecord> daemon = stopped();
      if (daemon.isEmpty()) {
        scope.clear(STOPPED);
      } else if (lasts.compareTo(PATIENCE) > 0) {
        scope.set(
            HealthCondition.down(
                STOPPED,
                "all reads and writes of the data volume wait: "
                    + Silence.text(daemon.get().name(), Optional.of(daemon.get().pid()), lasts),
                "run that command; no data is lost, and the node does not end the program, since"
                    + " that would end the volume"));
      }
      Thread.sleep(LOOK_EVERY);
    }
  }

  private Optional<ProcessRecord> stopped() {
    return processes.records().stream()
        .filter(record -> record.name().startsWith(VOLUME))
        .filter(ProcessRecord::alive)
        .filter(record -> Silence.stopped(record.pid()))
        .findFirst();
  }
}
