package dev.polis.api.storage;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.logtree.Secret;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The node's disk. Thread-safe; two mounts at the same time wait for each other. What is mounted
 * outlives the service: the next instance finds it and publishes {@link DataStatus.Mounted} before
 * it serves its first caller, without keys.
 */
@Followed
@ProviderType
public interface Storage {

  /**
   * The declared tree. {@code esp/} and {@code ephemeral/} may be used at once, {@code data/} when
   * it is mounted.
   */
  Root root();

  /** Returns whether {@code data/} can be used. It always has a value. */
  Value<DataStatus> data();

  /**
   * Makes the folder on the data volume that an organ or a role declares for itself, and returns
   * it. Its content stays when the organ stops, for whatever reason. A passable or public folder
   * can be reached by other accounts of the machine, as far as the state directory itself can be.
   *
   * @param declared its name and mode; declaring the same one again is allowed
   * @return the folder, which exists
   * @throws FileException if the data volume is not mounted, or the folder cannot be made
   * @throws IllegalArgumentException if the name is taken, or declared with another mode
   */
  default FolderPlacement folder(OrganFolder declared) throws FileException {
    if (data().peek().orElseThrow() instanceof DataStatus.NotMounted(var reason)) {
      throw new FileException(
          FileException.Problem.ABSENT,
          "folder %s is on the data volume, which is not mounted: %s"
              .formatted(declared.name(), reason),
          "wait until the storage organ says that it is");
    }
    FolderPlacement folder = root().data().organFolder(declared);
    folder.create();
    if (declared.mode() != Mode.PRIVATE_DIRECTORY) {
      root().letOthersPass();
      root().data().letOthersPass();
      folder.letOthersPass();
    }
    return folder;
  }

  /**
   * Checks that this machine can give a security; called before the security is promised to a
   * cluster.
   *
   * @throws StorageException UNSUPPORTED, naming the missing tool (and its Debian package),
   *     permission or kernel feature
   */
  void require(StorageSecurity security) throws StorageException;

  /**
   * The security a new volume of this node should have, if the cluster's policy leaves a choice:
   * the configured one, or the strongest this machine can give.
   */
  StorageSecurity preferred();

  /**
   * Makes the data volume of a node that is being enrolled and mounts it. The caller made the keys
   * with {@link UnlockKeys#generate} and has written them to the journal. Calling it again with the
   * same keys, also after the process was killed in the middle, ends in the same place. Each
   * security takes keys: an INSECURE volume is not encrypted, but the node's half ties it to this
   * node's sealed configuration.
   *
   * @throws FileException OCCUPIED if there is anything that these keys did not make, UNSUPPORTED,
   *     BAD_KEY, FULL, …; a refusal leaves the disk as it was
   */
  void mountNew(StorageSecurity security, UnlockKeys keys)
      throws FileException, InterruptedException;

  /**
   * Mounts the volume of an enrolled node. No failure if it is mounted already.
   *
   * @param clusterUnlockKey the cluster's half of the key
   * @throws FileException ABSENT, WRONG_KEY, BAD_KEY, FOREIGN, CORRUPTED, UNSUPPORTED, …; the
   *     volume is as it was, and another attempt is possible
   */
  void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws FileException, InterruptedException;

  /**
   * Mounts an INSECURE volume, which needs no half of the cluster.
   *
   * @throws StorageException BAD_KEY if the configuration names another security
   */
  void mountExisting(SealedConfiguration configuration) throws FileException, InterruptedException;

  /** The sealed configuration. */
  SealedConfigurationStore sealedConfiguration();

  /** The enrolment journal. */
  EnrolmentJournalStore enrolmentJournal();

  /** The recovery share. */
  RecoveryShareStore recoveryShare();

  /** Looks what would open the data volume after a power-off. */
  RecoveryStatus recovery();
}
