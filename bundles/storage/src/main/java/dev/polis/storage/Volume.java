package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;

/**
 * Keeps the data volume in one of several ways. An implementation knows how, never whether: what
 * may be made, discarded or mounted is decided by {@link VolumeMaker} and {@link VolumeManager},
 * which call one method at a time.
 */
interface Volume {

  /** What is mounted of a volume. */
  enum Presence {
    /** Nothing. */
    ABSENT,
    /**
     * It is mounted, but the program that served it is gone: {@link #close} it before it is opened
     * again.
     */
    STALE,
    /** It is mounted and works. */
    ALIVE
  }

  /** Its name in the marker of an unfinished volume; it never changes. */
  String name();

  /** What it promises. */
  StorageSecurity security();

  /** Describes its means and its limits. */
  String how();

  /** Says where its bytes are, for messages. */
  String backing();

  /** Names what it gives and by which means, for refusals: "an ENCRYPTED volume with …". */
  String what();

  /** Lists what this machine lacks for it. */
  Shortage shortage();

  /**
   * Refuses if this machine cannot do it.
   *
   * @throws StorageException UNSUPPORTED, naming what is missing and how to get it
   */
  default void require() throws StorageException {
    Shortage shortage = shortage();
    if (!shortage.isEmpty()) {
      throw shortage.refusal(what());
    }
  }

  /** Whether there is anything at its backing, finished or not. */
  boolean exists() throws FileException;

  /** What of it is mounted, by this or a former instance. */
  Presence presence() throws FileException, InterruptedException;

  /**
   * Makes the backing and an empty file system in it and mounts that; there is nothing at the
   * backing.
   */
  void create(VolumeKey key) throws FileException, InterruptedException;

  /**
   * Mounts it.
   *
   * @throws FileException WRONG_KEY or CORRUPTED with the backing untouched
   */
  void open(VolumeKey key) throws FileException, InterruptedException;

  /**
   * Unmounts it and ends what served it; also cleans up behind a killed instance. No failure if
   * nothing is there.
   */
  void close() throws FileException, InterruptedException;

  /** Removes the backing of a volume that was never finished. It is closed. */
  void discard() throws FileException, InterruptedException;
}
