package dev.polis.api.curator;

import com.google.protobuf.ByteString;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeId;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.common.NodeTPMUsage;
import java.security.PublicKey;
import java.util.Objects;

/**
 * Holds the values for the first records of a cluster.
 *
 * @param id the first node
 * @param nodeKey its Ed25519 public key; {@code id} is computed from it
 * @param joinKey its Ed25519 join public key
 * @param clusterUnlockKey the cluster's half of the volume key: 32 bytes, or empty if the volume is
 *     not encrypted
 * @param storageSecurity the protection of the node's data volume
 * @param ownerKey the Ed25519 public key of the initial owner
 * @param recoveryKey the raw X25519 public key that may replace the owner's; empty if there is none
 * @param configuration the cluster configuration, complete and validated
 * @param tpmUsage the node's use of its TPM
 * @param labels the node's labels
 */
public record BootstrapRequest(
    NodeId id,
    PublicKey nodeKey,
    PublicKey joinKey,
    Secret clusterUnlockKey,
    NodeStorageSecurity storageSecurity,
    PublicKey ownerKey,
    ByteString recoveryKey,
    ClusterConfiguration configuration,
    NodeTPMUsage tpmUsage,
    NodeLabels labels) {

  public BootstrapRequest {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(nodeKey, "nodeKey");
    Objects.requireNonNull(joinKey, "joinKey");
    Objects.requireNonNull(clusterUnlockKey, "clusterUnlockKey");
    Objects.requireNonNull(storageSecurity, "storageSecurity");
    Objects.requireNonNull(ownerKey, "ownerKey");
    Objects.requireNonNull(recoveryKey, "recoveryKey");
    Objects.requireNonNull(configuration, "configuration");
    Objects.requireNonNull(tpmUsage, "tpmUsage");
    Objects.requireNonNull(labels, "labels");
  }
}
