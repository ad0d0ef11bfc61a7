package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Stores the sealed configuration on {@code esp/}, in an envelope with its sealer's name and a
 * checksum. It refuses the content of another sealer, and never parses it as plain text.
 */
@ProviderType
public interface SealedConfigurationStore {

  /**
   * Returns the configuration; only {@link Stored.None} means that this node was never enrolled.
   */
  Stored<SealedConfiguration> read();

  /**
   * Replaces the configuration atomically. A first one is bound to this machine if it has a sealer;
   * a later one is bound if the present one is.
   */
  void write(SealedConfiguration configuration) throws FileException;

  /**
   * Opens the copy of a configuration that was bound to a machine, which is sealed to the owner's
   * recovery key, and binds it to this machine as it is now.
   *
   * @param recoveryPrivateKey the owner's X25519 private key, raw
   * @throws FileException ABSENT without a copy, CORRUPTED, BAD_KEY or WRONG_KEY
   */
  SealedConfiguration recover(Secret recoveryPrivateKey) throws FileException;

  /** Replaces the configuration atomically, and binds nothing to this machine. */
  void writeUnbound(SealedConfiguration configuration) throws FileException;
}
