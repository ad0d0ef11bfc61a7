package dev.polis.storage;

import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.layout.Root;
import dev.polis.posix.Mounts;
import java.util.Optional;

/**
 * Makes new volumes and discards unfinished ones; the one place that does either.
 *
 * <pre>
 *   marker on esp/ ─▶ create ─▶ identity in the volume ─▶ marker gone
 * </pre>
 *
 * <p>Only a volume with a marker is ever discarded, and only for the keys that the marker names. A
 * kill at any point leaves a state from which the next attempt with the same keys continues.
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
   * Discards what an interrupted attempt with these keys left.
   *
   * @param by fingerprint of the keys
   * @return whether there was such an attempt
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

  /** Makes a volume and mounts it; after a failure the disk is as it was. */
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

  /** Refuses if something is mounted at, or lies in, the directory that a volume is mounted at. */
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
      throw root.data().occupied("mounting a volume", "move its content away; nothing was changed");
    }
  }
}
