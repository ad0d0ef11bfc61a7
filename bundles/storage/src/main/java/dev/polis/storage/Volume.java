package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;

/**
 * Keeps the data volume in one of several ways, each of which is an implementation. An
 * implementation only executes: {@link VolumeMaker} and {@link VolumeManager} decide when to make,
 * discard or mount it, and call one method at a time.
 */
interface Volume {

  /** Lists the states of a volume's mount. */
  enum Presence {
    /** The volume is not mounted. */
    ABSENT,
    /**
     * The volume is mounted, but its program has gone: call {@link #close} before the next open.
     */
    STALE,
    /** The volume is mounted and works. */
    ALIVE
  }

  /** Returns the volume's name in the marker of an unfinished volume; the name never changes. */
  String name();

  /** Returns the security of the volume. */
  StorageSecurity security();

  /** Describes the volume's programs and limits. */
  String how();

  /** Describes the place of the volume's bytes, for messages. */
  String backing();

  /** Describes the volume's security and means, for refusals: "an ENCRYPTED volume with …". */
  String what();

  /** Lists what this machine lacks to run the volume. */
  Shortage shortage();

  /**
   * Refuses a volume that this machine cannot run.
   *
   * @throws StorageException UNSUPPORTED, naming the missing parts and their remedies
   */
  default void require() throws StorageException {
    Shortage shortage = shortage();
    if (!shortage.isEmpty()) {
      throw shortage.refusal(what());
    }
  }

  /** Returns whether the volume's backing exists, finished or not. */
  boolean exists() throws FileException;

  /** Returns the state of the mount, also of one from a former instance. */
  Presence presence() throws FileException, InterruptedException;

  /** Makes the backing with an empty file system and mounts it; no backing may exist. */
  void create(VolumeKey key) throws FileException, InterruptedException;

  /**
   * Mounts the volume.
   *
   * @throws FileException WRONG_KEY or CORRUPTED; the backing stays unchanged
   */
  void open(VolumeKey key) throws FileException, InterruptedException;

  /**
   * Unmounts the volume and ends its program; also cleans up after a killed instance. It does
   * nothing if there is no mount.
   */
  void close() throws FileException, InterruptedException;

  /** Removes the backing of an unfinished and closed volume. */
  void discard() throws FileException, InterruptedException;
}
