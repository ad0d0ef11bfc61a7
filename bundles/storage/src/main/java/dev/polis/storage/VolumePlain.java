package dev.polis.storage;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;

/** Keeps an INSECURE volume: a plain directory. */
final class VolumePlain implements Volume {

  private final Root.Data data;

  VolumePlain(Root root) {
    data = root.data();
  }

  @Override
  public String name() {
    return "directory";
  }

  @Override
  public StorageSecurity security() {
    return StorageSecurity.INSECURE;
  }

  @Override
  public String how() {
    return "a plain directory: a person who holds the disk can read and change everything";
  }

  @Override
  public String backing() {
    return data.path().toString();
  }

  @Override
  public String what() {
    return "an INSECURE volume";
  }

  /** Returns no shortage, since the node could make the state directory. */
  @Override
  public Shortage shortage() {
    return Shortage.NONE;
  }

  @Override
  public boolean exists() throws FileException {
    return !data.list().isEmpty();
  }

  /** Returns ABSENT, since a directory needs no mount. */
  @Override
  public Presence presence() {
    return Presence.ABSENT;
  }

  @Override
  public void create(VolumeKey key) throws FileException {
    data.create();
  }

  @Override
  public void open(VolumeKey key) throws FileException {
    // A directory with foreign content keeps its mode, too.
    if (!data.exists() || data.volume().exists()) {
      data.create();
    }
  }

  @Override
  public void close() {
    // It has no program.
  }

  /** Removes the identity of an unfinished volume, its only possible content. */
  @Override
  public void discard() throws FileException {
    data.removeTemporaryFiles();
    data.volume().delete();
    if (!data.list().isEmpty()) {
      throw data.occupied(
          "a new volume", "move its content away, or choose another state directory");
    }
  }
}
