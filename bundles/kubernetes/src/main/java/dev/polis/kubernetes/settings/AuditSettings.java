package dev.polis.kubernetes.settings;

/**
 * Holds the content and the size of the API server's audit log.
 *
 * @param policy a checked document of {@link AuditPolicy}
 * @param files the number of kept files; the API server deletes the oldest
 * @param fileMebibytes the size at which the next file begins
 */
public record AuditSettings(String policy, int files, int fileMebibytes) {

  /**
   * The default: 64 MiB in 4 files, as much as the node's own audit log, with some 60,000 records.
   */
  public static final AuditSettings STANDARD = new AuditSettings(AuditPolicy.STANDARD, 4, 16);

  /** The smallest size of a file, which must hold the largest record, of 8 MiB. */
  private static final int LEAST_MEBIBYTES = 16;

  /** The largest size of a file, which takes a reader seconds. */
  private static final int MOST_MEBIBYTES = 1024;

  /** The least number of files: with only one, the API server would keep all files. */
  private static final int LEAST_FILES = 2;

  /** The largest number of files, which the node can list in a moment. */
  private static final int MOST_FILES = 1000;

  private static final int RECOGNISED = 60;

  /** Refuses limits that would lose records, each with its key. */
  public AuditSettings {
    KubernetesSettings.CHECK.range("audit.files", files, LEAST_FILES, MOST_FILES);
    KubernetesSettings.CHECK.range(
        "audit.file.mebibytes", fileMebibytes, LEAST_MEBIBYTES, MOST_MEBIBYTES);
  }

  static AuditSettings of(KubernetesConfig config) {
    return new AuditSettings(
        policy(config.audit_policy()), config.audit_files(), config.audit_file_mebibytes());
  }

  private static String policy(String text) {
    try {
      return text.isBlank() ? AuditPolicy.STANDARD : AuditPolicy.checked(text);
    } catch (IllegalArgumentException wrong) {
      throw KubernetesSettings.CHECK.refuse(
          "audit.policy", beginning(text), "which " + wrong.getMessage());
    }
  }

  /** Returns the beginning of a policy, which identifies it in a message. */
  private static String beginning(String text) {
    return text.length() <= RECOGNISED ? text : text.substring(0, RECOGNISED) + "...";
  }
}
