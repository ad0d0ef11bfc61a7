package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Watcher;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthCondition;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.rpc.audit.AuditStatus;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** Opens the audit log on the data volume while the volume is mounted. */
final class AuditVolume {
  private static final OrganFolder FOLDER = new OrganFolder("audit", Mode.PRIVATE_DIRECTORY);
  private static final String HELD = "audit-log-held";

  private final Storage storage;
  private final AuditLog log;
  private final ClockCheck clock;
  private final FolderPlacement folder;

  AuditVolume(Storage storage, AuditLog log, ClockCheck clock) {
    this.storage = storage;
    this.log = log;
    this.clock = clock;
    this.folder = folder(storage.root());
  }

  /** Returns the folder of the log's files. */
  static FolderPlacement folder(Root root) {
    return root.data().organFolder(FOLDER);
  }

  /**
   * Follows the status of the volume until it is cancelled; the log stays open for the next
   * instance.
   */
  void run(Context context) throws IOException, InterruptedException {
    context.healthy();
    try (Watcher<DataStatus> watcher = storage.data().watch()) {
      while (true) {
        switch (watcher.get()) {
          case DataStatus.Mounted mounted -> {
            clock.remember();
            log.open(folder.create());
          }
          case DataStatus.NotMounted lost -> log.release();
        }
      }
    }
  }

  /** Returns the health of the organ for a state of the log. */
  static Optional<HealthCondition> judge(AuditStatus status) {
    return status instanceof AuditStatus.Failing(Path where, String reason)
        ? Optional.of(
            HealthCondition.degraded(
                HELD,
                "the node cannot write the audit log at %s (%s); it keeps the records in memory, and when it keeps %d it refuses all changes"
                    .formatted(where, reason, AuditLog.HELD),
                "make room on the data volume, or repair its disk; the node tries to write the log again every 2 s"))
        : Optional.empty();
  }
}
