package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The sealed configuration on {@code esp/}, in an envelope that names its sealer and carries a
 * checksum: content sealed by another sealer is refused by name and never parsed as if it were
 * plain.
 */
@ProviderType
public interface SealedConfigurationStore {

  /** What is there. Only {@link Stored.None} means that this node was never enrolled. */
  Stored<SealedConfiguration> read();

  /** Replaces it atomically. */
  void write(SealedConfiguration configuration) throws FileException;
}
