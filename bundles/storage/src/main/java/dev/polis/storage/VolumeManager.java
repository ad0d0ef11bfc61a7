package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.FilePlacement;
import dev.polis.api.storage.Root;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Problem;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.Stored;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.logtree.Secret;
import dev.polis.storage.Volume.Presence;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Decides what may be done to the data volume; the one place that lets something be made or
 * discarded.
 *
 * <pre>
 *   mountNew:   marker on esp/ ─▶ create ─▶ identity in the volume ─▶ marker gone ─▶ Mounted
 * </pre>
 *
 * <p>The <em>marker</em> is there from before the first byte of a volume is written until {@code
 * mountNew} is about to return: a volume with a marker has never been used by anyone, and the
 * marker names the keys that began it. Only such a volume is ever discarded, and only for those
 * keys. The <em>identity</em> inside the volume names the node's half of its keys, so a volume of
 * another node is recognised even when it is a plain directory.
 */
final class VolumeManager {

  /** Called between steps; for tests that end the process there. */
  @FunctionalInterface
  interface Steps {
    void reached(String step);
  }

  private static final String MARKER = "unfinished-volume";
  private static final String IDENTITY = "volume";
  private static final String BY = "node-key";
  private static final String VOLUME = "volume";
  private static final String SECURITY = "security";

  private final Root root;
  private final List<Volume> volumes;
  private final SealedConfigurationStore sealed;
  private final Steps steps;
  private final ReentrantLock one = new ReentrantLock();
  private final MutableValue<DataStatus> status =
      new MutableValue<>(new DataStatus.NotMounted("not asked for yet"));

  /**
   * @param volumes what this program can do; of one security the preferred first, the plain
   *     directory among them
   */
  VolumeManager(Root root, List<Volume> volumes, SealedConfigurationStore sealed, Steps steps) {
    this.root = root;
    this.sealed = sealed;
    this.volumes = List.copyOf(volumes);
    this.steps = steps;
  }

  Value<DataStatus> status() {
    return status;
  }

  /** Finds what a former instance left mounted. Changes nothing on disk. */
  void adopt() throws StorageException, InterruptedException {
    one.lockInterruptibly();
    try {
      status.set(found(sealed.read()));
    } finally {
      one.unlock();
    }
  }

  private DataStatus found(Stored<SealedConfiguration> configuration)
      throws StorageException, InterruptedException {
    if (marker().exists()) {
      return new DataStatus.NotMounted("a volume was begun and not finished; enrolment goes on");
    }
    for (Volume volume : volumes) {
      switch (volume.presence()) {
        case ALIVE -> {
          // Two ways may share a backing; what was written into the volume says which one made it.
          if (isOf(identity().orThrow(), volume)) {
            return paired(volume, configuration);
          }
        }
        case STALE -> {
          return new DataStatus.NotMounted(
              volume.backing()
                  + " is mounted, but its server is gone; it is mounted again when asked for");
        }
        case ABSENT -> {}
      }
    }
    return adoptPlain(configuration);
  }

  private DataStatus adoptPlain(Stored<SealedConfiguration> configuration) throws StorageException {
    Volume plain = only(StorageSecurity.INSECURE).getFirst();
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
        requireIdentity(volume, VolumeKey.fingerprint(present.nodeUnlockKey()));
      } else {
        identity().orThrow();
      }
      return mounted(volume);
    } catch (StorageException e) {
      return new DataStatus.NotMounted(e.getMessage());
    }
  }

  /** Refuses a security this machine cannot give. */
  void require(StorageSecurity security) throws StorageException {
    usable(security);
  }

  /** See {@link dev.polis.api.storage.Storage#mountNew}. */
  void mountNew(StorageSecurity security, UnlockKeys keys)
      throws StorageException, InterruptedException {
    one.lockInterruptibly();
    try (VolumeKey key = VolumeKey.of(keys)) {
      String by = VolumeKey.fingerprint(keys.node());
      requireNotEnrolledOtherwise(by);
      boolean begun = resume(by);
      Optional<Volume> existing = existing(security);
      if (existing.isPresent() && !begun) {
        remount(existing.get(), key, by);
      } else {
        make(usable(security), key, by);
      }
    } finally {
      one.unlock();
    }
  }

  /**
   * An enrolled node's configuration that cannot be read is no reason to make a new volume, on the
   * contrary.
   */
  private void requireNotEnrolledOtherwise(String by) throws StorageException {
    Stored<SealedConfiguration> configuration = sealed.read();
    if (!(configuration instanceof Stored.None<SealedConfiguration>)
        && !VolumeKey.sameFingerprint(byOf(configuration.orThrow()), by)) {
      throw new StorageException(
          Problem.OCCUPIED,
          configuration.path() + " is there: this node is enrolled, with other keys",
          "mount its volume, or choose another state directory; nothing was changed");
    }
  }

  /** Clears what an interrupted attempt with these keys left; true if there was one. */
  private boolean resume(String by) throws StorageException, InterruptedException {
    Stored<Envelope> marker =
        marker().read().map(bytes -> Envelope.decode(MARKER, bytes, BY, VOLUME));
    if (marker instanceof Stored.None<Envelope>) {
      return false;
    }
    Envelope begun = marker.orThrow();
    if (!VolumeKey.sameFingerprint(begun.field(BY), by)) {
      throw new StorageException(
          Problem.OCCUPIED,
          marker() + " says that a volume was begun with other keys and not finished",
          "go on with the journal of that enrolment; if it is lost, remove "
              + marker()
              + " and the volume; nothing was changed");
    }
    String name = begun.field(VOLUME);
    Volume volume =
        volumes.stream()
            .filter(candidate -> candidate.name().equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    new StorageException(
                        Problem.UNSUPPORTED,
                        marker() + " speaks of a volume \"" + name + "\", which is unknown here",
                        "start the version that wrote it; nothing was changed"));
    volume.close();
    volume.discard();
    steps.reached("discarded");
    return true;
  }

  private void make(Volume volume, VolumeKey key, String by)
      throws StorageException, InterruptedException {
    requireNothingElse(volume);
    marker()
        .write(
            new Envelope(
                    MARKER,
                    Map.of(BY, by, VOLUME, volume.name(), SECURITY, volume.security().name()))
                .encode());
    steps.reached("marked");
    try {
      volume.create(key);
      steps.reached("created");
      root.data()
          .volume()
          .write(
              new Envelope(IDENTITY, Map.of(BY, by, SECURITY, volume.security().name())).encode());
      steps.reached("identified");
      marker().delete();
      steps.reached("finished");
    } catch (StorageException | InterruptedException e) {
      undo(volume, e);
      throw e;
    }
    status.set(mounted(volume));
  }

  /**
   * After a failure the disk is as it was; if even that fails the marker stays, and the next
   * attempt clears it.
   */
  private void undo(Volume volume, Exception failure) {
    boolean interrupted = Thread.interrupted();
    try {
      volume.close();
      volume.discard();
      marker().delete();
    } catch (StorageException e) {
      failure.addSuppressed(e);
    } catch (InterruptedException e) {
      failure.addSuppressed(e);
      interrupted = true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void remount(Volume volume, VolumeKey key, String by)
      throws StorageException, InterruptedException {
    try {
      mount(volume, key, by);
    } catch (StorageException e) {
      if (e.problem() == Problem.WRONG_KEY || e.problem() == Problem.FOREIGN) {
        throw new StorageException(
            Problem.OCCUPIED,
            volume.backing() + " was made with other keys, so no new volume is made over it",
            "go on with the enrolment it belongs to, or choose another state directory; nothing was changed",
            e);
      }
      throw e;
    }
  }

  /** See {@link dev.polis.api.storage.Storage#mountExisting(SealedConfiguration, Secret)}. */
  void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws StorageException, InterruptedException {
    one.lockInterruptibly();
    try (VolumeKey key =
        VolumeKey.of(new UnlockKeys(configuration.nodeUnlockKey(), clusterUnlockKey))) {
      mount(finished(configuration.security()), key, byOf(configuration));
    } finally {
      one.unlock();
    }
  }

  /** See {@link dev.polis.api.storage.Storage#mountExisting(SealedConfiguration)}. */
  void mountExisting(SealedConfiguration configuration)
      throws StorageException, InterruptedException {
    one.lockInterruptibly();
    try {
      Volume volume = finished(configuration.security());
      boolean alive = volume.presence() == Presence.ALIVE;
      if (configuration.security() != StorageSecurity.INSECURE && !alive) {
        throw new StorageException(
            Problem.BAD_KEY,
            volume.backing()
                + " is "
                + configuration.security()
                + " and no cluster unlock key was given",
            "get it from the curator, or from the recovery share; nothing was changed");
      }
      requireIdentity(volume, byOf(configuration));
      status.set(mounted(volume));
    } finally {
      one.unlock();
    }
  }

  private static String byOf(SealedConfiguration configuration) {
    return VolumeKey.fingerprint(configuration.nodeUnlockKey());
  }

  private void mount(Volume volume, VolumeKey key, String by)
      throws StorageException, InterruptedException {
    volume.require();
    if (volume.presence() != Presence.ALIVE) {
      volume.close();
      requireFreeMountPoint(volume);
      try {
        volume.open(key);
        requireIdentity(volume, by);
      } catch (StorageException | InterruptedException e) {
        closeAfter(volume, e);
        throw e;
      }
    } else {
      requireIdentity(volume, by);
    }
    status.set(mounted(volume));
  }

  private static void closeAfter(Volume volume, Exception failure) {
    boolean interrupted = Thread.interrupted();
    try {
      volume.close();
    } catch (StorageException e) {
      failure.addSuppressed(e);
    } catch (InterruptedException e) {
      failure.addSuppressed(e);
      interrupted = true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Looks whether what was mounted still is; a volume whose server died is published as such. */
  void check() throws StorageException, InterruptedException {
    one.lockInterruptibly();
    try {
      if (status.peek().orElseThrow() instanceof DataStatus.Mounted(var security, var how)
          && security != StorageSecurity.INSECURE
          && !alive(security)) {
        status.set(
            new DataStatus.NotMounted(
                "the %s volume was lost: its server ended, or someone unmounted it; restart the node to mount it again"
                    .formatted(security)));
      }
    } finally {
      one.unlock();
    }
  }

  private boolean alive(StorageSecurity security) throws StorageException, InterruptedException {
    for (Volume volume : only(security)) {
      if (volume.presence() == Presence.ALIVE) {
        return true;
      }
    }
    return false;
  }

  /** Unmounts; for a machine that is switched off. */
  void close() throws StorageException, InterruptedException {
    one.lockInterruptibly();
    try {
      for (Volume volume : volumes) {
        if (volume.security() != StorageSecurity.INSECURE && volume.exists()) {
          volume.close();
        }
      }
      status.set(new DataStatus.NotMounted("the node is switched off"));
    } finally {
      one.unlock();
    }
  }

  private DataStatus.Mounted mounted(Volume volume) {
    return new DataStatus.Mounted(volume.security(), volume.how());
  }

  private List<Volume> only(StorageSecurity security) {
    return volumes.stream().filter(volume -> volume.security() == security).toList();
  }

  /**
   * What this machine can give of a security; the refusals of all candidates in one if it can give
   * none.
   */
  private Volume usable(StorageSecurity security) throws StorageException {
    List<StorageException> refusals = new ArrayList<>();
    for (Volume volume : only(security)) {
      try {
        volume.require();
        return volume;
      } catch (StorageException e) {
        refusals.add(e);
      }
    }
    StorageException last = refusals.getLast();
    refusals.stream().limit(refusals.size() - 1L).forEach(last::addSuppressed);
    throw last;
  }

  private Optional<Volume> existing(StorageSecurity security) throws StorageException {
    for (Volume volume : only(security)) {
      if (volume.exists()) {
        return Optional.of(volume);
      }
    }
    return Optional.empty();
  }

  private Volume finished(StorageSecurity security) throws StorageException {
    if (marker().exists()) {
      throw new StorageException(
          Problem.CORRUPTED,
          marker()
              + " says that the data volume was never finished, but there is a sealed configuration",
          "restore the data volume and remove that file; nothing was changed");
    }
    Optional<Volume> volume = existing(security);
    if (volume.isPresent()) {
      return volume.get();
    }
    for (Volume other : volumes) {
      if (other.exists()) {
        throw foreign(
            "the sealed configuration names a volume that is %s, the one here is %s (%s)"
                .formatted(security, other.security(), other.backing()));
      }
    }
    throw new StorageException(
        Problem.ABSENT,
        "the sealed configuration names a volume that is %s, but there is none at %s"
            .formatted(security, only(security).getLast().backing()),
        "bring it back; if it is lost, remove this node from the cluster and enrol it anew; nothing was changed");
  }

  /** The guard before a volume is made: nothing may be there, of whatever kind. */
  private void requireNothingElse(Volume volume) throws StorageException {
    for (Volume other : volumes) {
      if (other.exists()) {
        throw new StorageException(
            Problem.OCCUPIED,
            "%s is there already, so no new volume is made beside or over it"
                .formatted(other.backing()),
            "go on with the enrolment it belongs to, or choose another state directory; nothing was changed");
      }
    }
    requireFreeMountPoint(volume);
  }

  private void requireFreeMountPoint(Volume volume) throws StorageException {
    if (volume.security() == StorageSecurity.INSECURE) {
      return;
    }
    Optional<Mounts.Mount> mount = Mounts.at(root.data().path());
    if (mount.isPresent()) {
      throw new StorageException(
          Problem.OCCUPIED,
          "%s is mounted at %s already".formatted(mount.get().source(), mount.get().point()),
          "unmount it; nothing was changed");
    }
    if (!root.data().list().isEmpty()) {
      throw root.data().occupied("mounting a volume", "move its content away; nothing was changed");
    }
  }

  private void requireIdentity(Volume volume, String by) throws StorageException {
    Envelope found = identity().orThrow();
    if (!VolumeKey.sameFingerprint(found.field(BY), by)) {
      throw foreign(volume.backing() + " belongs to another node: its node unlock key is another");
    }
    if (!isOf(found, volume)) {
      throw foreign(
          "%s was made %s, asked for is %s"
              .formatted(root.data(), found.field(SECURITY), volume.security()));
    }
  }

  private static boolean isOf(Envelope identity, Volume volume) {
    return identity.field(SECURITY).equals(volume.security().name());
  }

  private static StorageException foreign(String what) {
    return new StorageException(
        Problem.FOREIGN,
        what,
        "bring back the data volume and the sealed configuration that belong together; nothing was changed");
  }

  private Stored<Envelope> identity() {
    return root.data().volume().read().map(bytes -> Envelope.decode(IDENTITY, bytes, BY, SECURITY));
  }

  private FilePlacement marker() {
    return root.esp().volumeFormat();
  }
}
