package dev.polis.kubernetes.settings;

/**
 * Holds the content and the size of the API server's audit log.
 *
 * @param policy a checked document of {@link AuditPolicy}
 * @param files how many files the API server keeps; it deletes the oldest
 * @param fileMebibytes size at which it begins another file
 */
public record AuditSettings(String policy, int files, int fileMebibytes) {

  /** 64 MiB in 4 files, as much as the node's own audit log has: some 60,000 records. */
  public static final AuditSettings STANDARD = new AuditSettings(AuditPolicy.STANDARD, 4, 16);

  /** A file must hold the largest record, of 8 MiB; see the essay of {@code audit}. */
  private static final int LEAST_MEBIBYTES = 16;

  /** A file of this size takes a reader seconds. */
  private static final int MOST_MEBIBYTES = 1024;

  /** With no file besides the present one, the API server would keep all files. */
  private static final int LEAST_FILES = 2;

  /** The number of names that the node can list in a moment. */
  private static final int MOST_FILES = 1000;

  private static final int RECOGNISED = 60;

  /** Refuses limits with which records would be lost, each by its key. */
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

  /** Returns as much of a policy as tells which one it is. */
  private static String beginning(String text) {
    return text.length() <= RECOGNISED ? text : text.substring(0, RECOGNISED) + "...";
  }
}
