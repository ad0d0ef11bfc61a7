package dev.polis.rpc.audit;

/**
 * Limits the files of an audit log.
 *
 * @param fileBytes the size at which the next file begins
 * @param files the number of kept files; the oldest is deleted
 */
public record AuditSettings(long fileBytes, int files) {
  /**
   * The default limits: 64 MiB in 16 files hold some 200,000 changes, which people make in years. A
   * file of 4 MiB is checked within 50 ms at a start.
   */
  public static final AuditSettings DEFAULT = new AuditSettings(4 << 20, 16);

  /** Refuses limits that would keep no record. */
  public AuditSettings {
    if (fileBytes < 1 << 12) {
      throw new IllegalArgumentException(
          "a file of the audit log would have %d bytes; give it 4096 at least"
              .formatted(fileBytes));
    }
    if (files < 2) {
      throw new IllegalArgumentException(
          "%d files of the audit log would be kept; keep 2 at least".formatted(files));
    }
  }
}
