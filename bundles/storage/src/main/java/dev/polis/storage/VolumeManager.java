package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.logtree.Secret;
import dev.polis.storage.Volume.Presence;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Mounts the data volume and publishes whether it is usable. It runs one operation at a time;
 * {@link VolumeMaker} decides what to make or discard.
 */
final class VolumeManager {

  private final VolumeCatalog catalog;
  private final SealedConfigurationStore sealed;
  private final VolumeMarks marks;
  private final VolumeMaker maker;
  private final ReentrantLock one = new ReentrantLock();
  private boolean held; // guarded by one
  private final MutableValue<DataStatus> status =
      new MutableValue<>(new DataStatus.NotMounted("not asked for yet"));

  VolumeManager(Root root, VolumeCatalog catalog, SealedConfigurationStore sealed) {
    this.catalog = catalog;
    this.sealed = sealed;
    this.marks = new VolumeMarks(root);
    this.maker = new VolumeMaker(root, catalog, marks);
  }

  Value<DataStatus> status() {
    return status;
  }

  /**
   * Waits for the running operation, and starts no further one, since another instance takes over.
   */
  void hold() throws InterruptedException {
    one.lockInterruptibly();
    try {
      held = true;
    } finally {
      one.unlock();
    }
  }

  /** Resumes operation. */
  void goOn() {
    one.lock();
    try {
      held = false;
    } finally {
      one.unlock();
    }
  }

  private void requireCharge() throws FileException {
    if (held) {
      throw new FileException(
          Problem.OCCUPIED,
          "another instance of this organ manages the data volume now",
          "repeat the call, which then reaches that instance; nothing was changed");
    }
  }

  /** Finds a mounted volume of a former instance, without a change of the disk. */
  void adopt() throws FileException, InterruptedException {
    one.lockInterruptibly();
    try {
      status.set(found(sealed.read()));
    } finally {
      one.unlock();
    }
  }

  private DataStatus found(Stored<SealedConfiguration> configuration)
      throws FileException, InterruptedException {
    if (marks.unfinished()) {
      return new DataStatus.NotMounted(
          "the making of a volume has begun and not finished; the enrolment continues");
    }
    for (Volume volume : catalog.all()) {
      switch (volume.presence()) {
        case ALIVE -> {
          if (marks.madeAs(volume)) {
            return paired(volume, configuration);
          }
        }
        case STALE -> {
          return new DataStatus.NotMounted(
              volume.backing()
                  + " is mounted, but its server is gone; the node mounts it again on request");
        }
        case ABSENT -> {}
      }
    }
    return foundPlain(configuration);
  }

  private DataStatus foundPlain(Stored<SealedConfiguration> configuration) throws FileException {
    Volume plain = catalog.plain();
    return configuration
                instanceof
                Stored.Present<SealedConfiguration>(var path, SealedConfiguration present)
            && present.security() == StorageSecurity.INSECURE
            && plain.exists()
        ? paired(plain, configuration)
        : new DataStatus.NotMounted("not asked for yet");
  }

  private DataStatus paired(Volume volume, Stored<SealedConfiguration> configuration) {
    try {
      if (configuration
          instanceof Stored.Present<SealedConfiguration>(var path, SealedConfiguration present)) {
        marks.requireIdentity(volume, VolumeKey.fingerprint(present.nodeUnlockKey()));
      } else {
        marks.requireIdentity();
      }
      return mounted(volume);
    } catch (FileException e) {
      return new DataStatus.NotMounted(e.getMessage());
    }
  }

  /** Implements {@link dev.polis.api.storage.Storage#mountNew}. */
  void mountNew(StorageSecurity security, UnlockKeys keys)
      throws FileException, InterruptedException {
    one.lockInterruptibly();
    try (VolumeKey key = VolumeKey.of(keys)) {
      requireCharge();
      String by = VolumeKey.fingerprint(keys.node());
      requireNotEnrolledOtherwise(by);
      boolean begun = maker.discardUnfinished(by);
      Optional<Volume> existing = catalog.existing(security);
      if (existing.isPresent() && !begun) {
        remount(existing.get(), key, by);
      } else {
        Volume volume = catalog.usable(security);
        maker.make(volume, key, by);
        status.set(mounted(volume));
      }
    } finally {
      one.unlock();
    }
  }

  /**
   * Refuses a new volume for an enrolled node; an unreadable sealed configuration also means that
   * the node is enrolled.
   */
  private void requireNotEnrolledOtherwise(String by) throws FileException {
    Stored<SealedConfiguration> configuration = sealed.read();
    if (!(configuration instanceof Stored.None<SealedConfiguration>)
        && !VolumeKey.sameFingerprint(byOf(configuration.orThrow()), by)) {
      throw new FileException(
          Problem.OCCUPIED,
          configuration.path() + " exists: this node is enrolled, with other keys",
          "mount its volume, or choose another state directory; nothing was changed");
    }
  }

  private void remount(Volume volume, VolumeKey key, String by)
      throws FileException, InterruptedException {
    try {
      mount(volume, key, by);
    } catch (FileException e) {
      if (e instanceof StorageException refused
          && (refused.refusal() == Refusal.WRONG_KEY || refused.refusal() == Refusal.FOREIGN)) {
        throw new FileException(
            Problem.OCCUPIED,
            volume.backing() + " was made with other keys, so the node makes no new volume over it",
            "continue the enrolment that began it, or choose another state directory; nothing was changed",
            e);
      }
      throw e;
    }
  }

  /**
   * Implements {@link dev.polis.api.storage.Storage#mountExisting(SealedConfiguration, Secret)}.
   */
  void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws FileException, InterruptedException {
    one.lockInterruptibly();
    try (VolumeKey key =
        VolumeKey.of(new UnlockKeys(configuration.nodeUnlockKey(), clusterUnlockKey))) {
      requireCharge();
      mount(finished(configuration), key, byOf(configuration));
    } finally {
      one.unlock();
    }
  }

  /** Implements {@link dev.polis.api.storage.Storage#mountExisting(SealedConfiguration)}. */
  void mountExisting(SealedConfiguration configuration) throws FileException, InterruptedException {
    one.lockInterruptibly();
    try {
      requireCharge();
      Volume volume = finished(configuration);
      boolean alive = volume.presence() == Presence.ALIVE;
      if (configuration.security() != StorageSecurity.INSECURE && !alive) {
        throw new StorageException(
            Refusal.BAD_KEY,
            volume.backing()
                + " is "
                + configuration.security()
                + " and the call gave no cluster unlock key",
            "get it from the curator, or from the recovery share; nothing was changed");
      }
      marks.requireIdentity(volume, byOf(configuration));
      status.set(mounted(volume));
    } finally {
      one.unlock();
    }
  }

  private Volume finished(SealedConfiguration configuration) throws FileException {
    marks.requireFinished();
    return catalog.require(configuration.security());
  }

  private static String byOf(SealedConfiguration configuration) {
    return VolumeKey.fingerprint(configuration.nodeUnlockKey());
  }

  private void mount(Volume volume, VolumeKey key, String by)
      throws FileException, InterruptedException {
    volume.require();
    if (volume.presence() != Presence.ALIVE) {
      volume.close();
      maker.requireFreeMountPoint(volume);
      try {
        volume.open(key);
        marks.requireIdentity(volume, by);
      } catch (FileException | InterruptedException e) {
        Uninterrupted.afterFailure(e, volume::close);
        throw e;
      }
    } else {
      marks.requireIdentity(volume, by);
    }
    status.set(mounted(volume));
  }

  /** Checks whether the mounted volume is still mounted, and publishes the end of its server. */
  void check() throws FileException, InterruptedException {
    one.lockInterruptibly();
    try {
      if (!held
          && status.peek().orElseThrow() instanceof DataStatus.Mounted mounted
          && mounted.security() != StorageSecurity.INSECURE
          && !alive(mounted.security())) {
        status.set(
            new DataStatus.NotMounted(
                "the %s volume is lost: its server has ended, or a command has unmounted it"
                    .formatted(mounted.security())));
      }
    } finally {
      one.unlock();
    }
  }

  private boolean alive(StorageSecurity security) throws FileException, InterruptedException {
    for (Volume volume : catalog.of(security)) {
      if (volume.presence() == Presence.ALIVE) {
        return true;
      }
    }
    return false;
  }

  /** Unmounts the volume at a power-off, unless another instance keeps it. */
  void close() throws FileException, InterruptedException {
    one.lockInterruptibly();
    try {
      if (held) {
        return;
      }
      for (Volume volume : catalog.all()) {
        if (volume.security() != StorageSecurity.INSECURE && volume.exists()) {
          volume.close();
        }
      }
      status.set(new DataStatus.NotMounted("the node powers off"));
    } finally {
      one.unlock();
    }
  }

  private DataStatus.Mounted mounted(Volume volume) {
    return new DataStatus.Mounted(
        volume.security(), volume.how(), catalog.shortfall(volume.security()));
  }
}
