package dev.polis.storage;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.posix.Mounts;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import java.util.Optional;

/**
 * Makes new volumes and discards unfinished ones; no other class does either.
 *
 * <pre>
 *   marker on esp/ ─▶ create ─▶ identity in the volume ─▶ marker gone
 * </pre>
 *
 * <p>It discards only a volume with a marker, and only for the keys that the marker names. After a
 * kill at any point the next attempt with the same keys continues.
 */
final class VolumeMaker {

  private final Root root;
  private final VolumeCatalog catalog;
  private final VolumeMarks marks;

  VolumeMaker(Root root, VolumeCatalog catalog, VolumeMarks marks) {
    this.root = root;
    this.catalog = catalog;
    this.marks = marks;
  }

  /**
   * Discards the remains of an interrupted attempt with these keys.
   *
   * @param by fingerprint of the keys
   * @return true if there was such an attempt
   * @throws FileException OCCUPIED if other keys began a volume
   */
  boolean discardUnfinished(String by) throws FileException, InterruptedException {
    Optional<VolumeMarks.Begun> found = marks.begun();
    if (found.isEmpty()) {
      return false;
    }
    VolumeMarks.Begun begun = found.get();
    if (!VolumeKey.sameFingerprint(begun.by(), by)) {
      throw marks.begunByOthers();
    }
    Volume volume =
        catalog.named(begun.volume()).orElseThrow(() -> marks.unknownVolume(begun.volume()));
    volume.close();
    volume.discard();
    return true;
  }

  /** Makes a volume and mounts it; restores the disk after a failure. */
  void make(Volume volume, VolumeKey key, String by) throws FileException, InterruptedException {
    catalog.requireNone();
    requireFreeMountPoint(volume);
    marks.begin(volume, by);
    try {
      volume.create(key);
      marks.identify(volume, by);
      marks.end();
    } catch (FileException | InterruptedException e) {
      Uninterrupted.afterFailure(
          e,
          () -> {
            volume.close();
            volume.discard();
            marks.end();
          });
      throw e;
    }
  }

  /** Refuses if the mount point of a volume is in use or not empty. */
  void requireFreeMountPoint(Volume volume) throws FileException {
    if (volume.security() == StorageSecurity.INSECURE) {
      return;
    }
    Optional<Mounts.Mount> mount = VolumeTools.mounted(root.data().path());
    if (mount.isPresent()) {
      throw new FileException(
          Problem.OCCUPIED,
          "%s is mounted at %s already".formatted(mount.get().source(), mount.get().point()),
          "unmount it; nothing was changed");
    }
    if (!root.data().list().isEmpty()) {
      throw root.data().occupied("mounting a volume", "move the content away; nothing was changed");
    }
  }
}
