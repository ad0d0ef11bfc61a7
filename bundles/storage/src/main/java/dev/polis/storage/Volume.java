package dev.polis.storage;

import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;

/**
 * Keeps the data volume in one of several ways. An implementation only carries out the work: {@link
 * VolumeMaker} and {@link VolumeManager} decide what to make, discard or mount, and call one method
 * at a time.
 */
interface Volume {

  /** What is mounted of a volume. */
  enum Presence {
    /** Nothing. */
    ABSENT,
    /**
     * It is mounted, but the program that served it is gone: call {@link #close} before opening it
     * again.
     */
    STALE,
    /** It is mounted and works. */
    ALIVE
  }

  /** Returns its name in the marker of an unfinished volume; the name never changes. */
  String name();

  /** What it promises. */
  StorageSecurity security();

  /** Describes its programs and its limits. */
  String how();

  /** Says where its bytes are, for messages. */
  String backing();

  /** Names what it gives and by which means, for refusals: "an ENCRYPTED volume with …". */
  String what();

  /** Lists what this machine lacks to run it. */
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

  /** Returns whether its backing exists, finished or not. */
  boolean exists() throws FileException;

  /** Returns what this or a former instance has mounted of it. */
  Presence presence() throws FileException, InterruptedException;

  /** Makes the backing with an empty file system and mounts it; the backing must not exist. */
  void create(VolumeKey key) throws FileException, InterruptedException;

  /**
   * Mounts it.
   *
   * @throws FileException WRONG_KEY or CORRUPTED with the backing untouched
   */
  void open(VolumeKey key) throws FileException, InterruptedException;

  /**
   * Unmounts it and ends its program; also cleans up after a killed instance. Does nothing if
   * nothing is there.
   */
  void close() throws FileException, InterruptedException;

  /** Removes the backing of an unfinished volume, which must be closed. */
  void discard() throws FileException, InterruptedException;
}
