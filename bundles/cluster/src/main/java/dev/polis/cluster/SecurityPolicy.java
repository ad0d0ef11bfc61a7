package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.common.NodeTPMUsage;

/** Applies a cluster's configuration to one machine. */
final class SecurityPolicy {

  private SecurityPolicy() {}

  /** Returns the configuration of a cluster whose founder gave none: the strictest one. */
  static ClusterConfiguration defaults() {
    return ClusterConfiguration.newBuilder()
        .setClusterDomain("cluster.internal")
        .setTpmMode(TPMMode.TPM_MODE_REQUIRED)
        .setStorageSecurityPolicy(
            StorageSecurityPolicy.STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION_AND_AUTHENTICATION)
        .build();
  }

  /**
   * Selects the protection of a new volume.
   *
   * @param policy the cluster's policy
   * @param preferred the preference of the machine, if the cluster leaves a choice
   * @throws EnrolmentException if the policy is unset, or excludes the requested security
   */
  static StorageSecurity security(StorageSecurityPolicy policy, StorageSecurity preferred) {
    return switch (policy) {
      case STORAGE_SECURITY_POLICY_PERMISSIVE -> preferred;
      case STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION ->
          preferred == StorageSecurity.INSECURE ? StorageSecurity.ENCRYPTED : preferred;
      case STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION_AND_AUTHENTICATION ->
          StorageSecurity.AUTHENTICATED_ENCRYPTED;
      case STORAGE_SECURITY_POLICY_NEEDS_INSECURE -> StorageSecurity.INSECURE;
      case STORAGE_SECURITY_POLICY_INVALID, UNRECOGNIZED ->
          throw new EnrolmentException(
              "initial_cluster_configuration.storage_security_policy is %s; set one of the"
                      .formatted(policy)
                  + " STORAGE_SECURITY_POLICY_ values");
    };
  }

  /**
   * Determines the node's use of its TPM.
   *
   * @param mode the cluster's demand
   * @param present true if the machine has a usable TPM
   * @throws EnrolmentException if the cluster demands a TPM and there is none
   */
  static NodeTPMUsage tpm(TPMMode mode, boolean present) {
    return switch (mode) {
      case TPM_MODE_REQUIRED -> {
        if (!present) {
          throw new EnrolmentException(
              "the cluster configuration demands a TPM (tpm_mode TPM_MODE_REQUIRED), but this"
                  + " node has no usable one; set tpm_mode to TPM_MODE_BEST_EFFORT or"
                  + " TPM_MODE_DISABLED in the node parameters");
        }
        yield NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED;
      }
      case TPM_MODE_BEST_EFFORT ->
          present
              ? NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED
              : NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT;
      case TPM_MODE_DISABLED ->
          present
              ? NodeTPMUsage.NODE_TPM_USAGE_PRESENT_BUT_UNUSED
              : NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT;
      case TPM_MODE_INVALID, UNRECOGNIZED ->
          throw new EnrolmentException(
              "initial_cluster_configuration.tpm_mode is %s; set one of the TPM_MODE_ values"
                  .formatted(mode));
    };
  }

  static StorageSecurity ofWire(NodeStorageSecurity security) {
    return StorageSecurity.of(security)
        .orElseThrow(
            () ->
                new EnrolmentException(
                    "this version does not know the storage security %s in the enrolment journal; run the version that wrote it"
                        .formatted(security)));
  }
}
