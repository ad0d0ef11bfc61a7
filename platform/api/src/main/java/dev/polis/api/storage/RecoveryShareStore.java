package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.wire.storage.RecoveryShare;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Stores the recovery share on {@code esp/}: the cluster's half of the volume key, sealed by HPKE
 * (RFC 9180, base mode, X25519, HKDF-SHA256, AES-256-GCM) to the owner's recovery key. With the
 * private recovery key a node opens its volume without any curator; without it the share reveals
 * nothing.
 */
@ProviderType
public interface RecoveryShareStore {

  /** Length in bytes of either half of an X25519 key pair, raw. */
  int KEY_LENGTH = 32;

  /** Returns whether there is a share, without a look at its content. */
  boolean exists() throws FileException;

  /** Reads the sealed share, which reveals nothing without the key. */
  Stored<RecoveryShare> read();

  /**
   * Seals a share and writes it over a former one. A crash at any moment leaves either the former
   * or the new share, complete.
   *
   * @param clusterUnlockKey the cluster's half
   * @param recoveryPublicKey the owner's X25519 public key, raw
   */
  void seal(Secret clusterUnlockKey, byte[] recoveryPublicKey) throws FileException;

  /**
   * Opens the share.
   *
   * @param recoveryPrivateKey the owner's X25519 private key, raw
   * @return the cluster's half of the volume key
   * @throws FileException ABSENT, CORRUPTED, BAD_KEY or, if it was sealed to another key, WRONG_KEY
   */
  Secret open(Secret recoveryPrivateKey) throws FileException;
}
