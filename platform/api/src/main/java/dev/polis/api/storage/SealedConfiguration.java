package dev.polis.api.storage;

import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import java.security.cert.X509Certificate;
import java.util.Objects;

/**
 * Holds the data with which an enrolled node joins again after a reboot. The node writes it once
 * enrolment is complete, so it always has the cluster's certificate.
 *
 * @param nodeUnlockKey the node's half of the volume key, {@value UnlockKeys#LENGTH} bytes
 * @param joinKey the private Ed25519 key that proves the node's identity before the volume is open
 * @param clusterCa the trusted CAs
 * @param security the security of the data volume
 */
public record SealedConfiguration(
    Secret nodeUnlockKey, Secret joinKey, CaBundle clusterCa, StorageSecurity security) {

  /** Makes the configuration of a cluster with one CA. */
  public SealedConfiguration(
      Secret nodeUnlockKey, Secret joinKey, X509Certificate clusterCa, StorageSecurity security) {
    this(nodeUnlockKey, joinKey, CaBundle.of(clusterCa), security);
  }

  /** Refuses keys of another length. */
  public SealedConfiguration {
    Objects.requireNonNull(nodeUnlockKey, "nodeUnlockKey");
    Objects.requireNonNull(joinKey, "joinKey");
    Objects.requireNonNull(clusterCa, "clusterCa");
    Objects.requireNonNull(security, "security");
    if (nodeUnlockKey.length() != UnlockKeys.LENGTH) {
      throw new IllegalArgumentException(
          "node unlock key has %d bytes; it must have %d"
              .formatted(nodeUnlockKey.length(), UnlockKeys.LENGTH));
    }
    if (joinKey.length() == 0) {
      throw new IllegalArgumentException("join key is empty");
    }
  }

  /** Returns the same configuration with other CAs. */
  public SealedConfiguration trusting(CaBundle other) {
    return new SealedConfiguration(nodeUnlockKey, joinKey, other, security);
  }
}
