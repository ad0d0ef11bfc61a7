package dev.polis.api.storage;

import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Stores the machine share on {@code esp/}: the cluster's half of the volume key, sealed to this
 * machine and to the software that it booted. With it a machine opens its volume alone, so that a
 * cluster comes back after all its machines were off.
 */
@ProviderType
public interface MachineShareStore {

  /** Returns whether this machine can seal, that is, has a sealer other than {@code none}. */
  boolean possible();

  /** Returns whether there is a share, without a look at its content. */
  boolean exists() throws FileException;

  /** Unseals the share; UNREADABLE with the reason if the machine is not the one that sealed. */
  Stored<Secret> read();

  /**
   * Seals a share and writes it over a former one.
   *
   * @param clusterUnlockKey the cluster's half
   * @throws IllegalStateException if this machine cannot seal
   */
  void write(Secret clusterUnlockKey) throws FileException;

  /** Overwrites and removes the share; does nothing if there is none. */
  void erase() throws FileException;
}
