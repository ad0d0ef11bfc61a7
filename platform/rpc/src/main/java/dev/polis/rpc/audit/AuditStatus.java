package dev.polis.rpc.audit;

import java.nio.file.Path;

/** Describes the state of the audit log. */
public sealed interface AuditStatus {

  /** Means that there is no data volume yet; records wait in memory. */
  record Closed() implements AuditStatus {}

  /**
   * Means that the log writes its records.
   *
   * @param folder the directory
   */
  record Open(Path folder) implements AuditStatus {}

  /**
   * Means that the disk refuses records; they wait in memory until it accepts them.
   *
   * @param folder the directory
   * @param reason the error of the disk
   */
  record Failing(Path folder, String reason) implements AuditStatus {}
}
