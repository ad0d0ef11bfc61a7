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
 * Manages the node's disk. It is thread-safe; one mount waits for another. A mount outlives the
 * service: without keys, the next instance finds it and publishes {@link DataStatus.Mounted} before
 * it serves its first caller.
 */
@Followed
@ProviderType
public interface Storage {

  /**
   * Returns the declared tree. {@code esp/} and {@code ephemeral/} may be used at once, {@code
   * data/} when it is mounted.
   */
  Root root();

  /** Returns the status of {@code data/}, which always has a value. */
  Value<DataStatus> data();

  /**
   * Makes a declared folder on the data volume, and returns it. Its content stays when the organ
   * stops, for any reason. Other accounts of the machine can reach a passable or public folder if
   * they can reach the state directory.
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
   * Checks that this machine can give a security, before the node promises it to a cluster.
   *
   * @throws StorageException UNSUPPORTED, naming the missing tool (and its Debian package),
   *     permission or kernel feature
   */
  void require(StorageSecurity security) throws StorageException;

  /**
   * Returns the security of a new volume if the cluster's policy leaves a choice: the configured
   * one, or the strongest of this machine.
   */
  StorageSecurity preferred();

  /**
   * Makes and mounts the data volume of a node that is being enrolled. The caller made the keys
   * with {@link UnlockKeys#generate} and has written them to the journal. A second call with the
   * same keys, even after a crash, has the same result. An INSECURE volume also needs keys: it is
   * not encrypted, but the node's half binds it to this node's sealed configuration.
   *
   * @throws FileException OCCUPIED if there is a volume of other keys, UNSUPPORTED, BAD_KEY, FULL,
   *     …; a refusal leaves the disk as it was
   */
  void mountNew(StorageSecurity security, UnlockKeys keys)
      throws FileException, InterruptedException;

  /**
   * Mounts the volume of an enrolled node; does nothing if it is mounted.
   *
   * @param clusterUnlockKey the cluster's half of the key
   * @throws FileException ABSENT, WRONG_KEY, BAD_KEY, FOREIGN, CORRUPTED, UNSUPPORTED, …; the
   *     volume is as it was, and another attempt is possible
   */
  void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws FileException, InterruptedException;

  /**
   * Mounts an INSECURE volume, which does not need the cluster's half.
   *
   * @throws StorageException BAD_KEY if the configuration names another security
   */
  void mountExisting(SealedConfiguration configuration) throws FileException, InterruptedException;

  /** Returns the store of the sealed configuration. */
  SealedConfigurationStore sealedConfiguration();

  /** Returns the store of the enrolment journal. */
  EnrolmentJournalStore enrolmentJournal();

  /** Returns the store of the recovery share. */
  RecoveryShareStore recoveryShare();

  /** Returns the store of the machine share. */
  MachineShareStore machineShare();

  /** Returns the prover of what this machine has booted. */
  MachineAttester attester();

  /** Checks what would open the data volume after a power-off. */
  RecoveryStatus recovery();
}
