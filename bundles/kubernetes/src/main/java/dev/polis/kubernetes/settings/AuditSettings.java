package dev.polis.kubernetes.settings;

/**
 * Says what the API server's audit log has, and how much room it takes.
 *
 * @param policy a checked document of {@link AuditPolicy}
 * @param files how many are kept; the oldest is deleted
 * @param fileMebibytes size at which another file is begun
 */
public record AuditSettings(String policy, int files, int fileMebibytes) {

  /** 64 MiB in 4 files, as much as the node's own audit log has: some 60,000 records. */
  public static final AuditSettings STANDARD = new AuditSettings(AuditPolicy.STANDARD, 4, 16);

  /** A file must hold the largest record, of 8 MiB; see the essay of {@code audit}. */
  private static final int LEAST_MEBIBYTES = 16;

  /** A file that a reader needs seconds for. */
  private static final int MOST_MEBIBYTES = 1024;

  /** The API server keeps all files if it is set to keep none beside the one that it writes. */
  private static final int LEAST_FILES = 2;

  /** More names than a folder is listed with in a moment. */
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
