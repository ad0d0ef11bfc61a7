package dev.polis.rpc.audit;

import java.nio.file.Path;

/** Says where the records of the audit log go. */
public sealed interface AuditStatus {

  /** There is no data volume yet; records are held in memory. */
  record Closed() implements AuditStatus {}

  /**
   * Records are written.
   *
   * @param folder where
   */
  record Open(Path folder) implements AuditStatus {}

  /**
   * The disk refuses them; they are held in memory, and written when it does no longer.
   *
   * @param folder where they should go
   * @param reason what the disk says
   */
  record Failing(Path folder, String reason) implements AuditStatus {}
}
