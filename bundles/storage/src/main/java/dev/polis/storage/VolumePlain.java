package dev.polis.storage;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;

/** INSECURE: a plain directory. */
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

  /** The node can make a directory wherever it could make the state directory. */
  @Override
  public Shortage shortage() {
    return Shortage.NONE;
  }

  @Override
  public boolean exists() throws FileException {
    return !data.list().isEmpty();
  }

  /** A directory needs no program to mount it. */
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
    // A directory that another program has filled keeps its mode, too.
    if (!data.exists() || data.volume().exists()) {
      data.create();
    }
  }

  @Override
  public void close() {
    // No program serves it.
  }

  /** An unfinished volume has at most the file that would have finished it. */
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
