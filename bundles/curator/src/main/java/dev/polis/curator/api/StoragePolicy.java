package dev.polis.curator.api;

import dev.polis.curator.record.Refusal;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.NodeStorageSecurity;
import java.util.EnumSet;
import java.util.Set;

/** Applies the cluster's policy for data volumes to a node. */
final class StoragePolicy {

  private StoragePolicy() {}

  /** Returns the security that a node should choose. */
  static NodeStorageSecurity recommended(StorageSecurityPolicy policy) {
    return switch (policy) {
      case STORAGE_SECURITY_POLICY_PERMISSIVE,
          STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION_AND_AUTHENTICATION ->
          NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED;
      case STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION ->
          NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED;
      case STORAGE_SECURITY_POLICY_NEEDS_INSECURE ->
          NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE;
      case STORAGE_SECURITY_POLICY_INVALID, UNRECOGNIZED ->
          throw Refusal.precondition(
              "the cluster's configuration has no valid storage_security_policy: %s", policy);
    };
  }

  /** Requires that the policy allows the security of a node. */
  static void check(StorageSecurityPolicy policy, NodeStorageSecurity security) {
    if (security == NodeStorageSecurity.NODE_STORAGE_SECURITY_INVALID
        || security == NodeStorageSecurity.UNRECOGNIZED) {
      throw Refusal.invalid(
          "storage_security %s is not one of the NODE_STORAGE_SECURITY_ values", security);
    }
    if (!allowed(policy).contains(security)) {
      throw Refusal.precondition(
          "storage_security %s does not satisfy the cluster's policy %s; it allows %s",
          security, policy, allowed(policy));
    }
  }

  private static Set<NodeStorageSecurity> allowed(StorageSecurityPolicy policy) {
    return switch (policy) {
      case STORAGE_SECURITY_POLICY_PERMISSIVE ->
          EnumSet.of(
              NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE,
              NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED,
              NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED);
      case STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION ->
          EnumSet.of(
              NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED,
              NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED);
      default -> EnumSet.of(recommended(policy));
    };
  }
}
