package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
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

  /** Returns the same store, whose writes bind nothing to this machine. */
  SealedConfigurationStore unbound();
}
