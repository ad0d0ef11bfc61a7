package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.EnrolmentJournalStore;
import dev.polis.api.storage.MachineAttester;
import dev.polis.api.storage.MachineShareStore;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.RecoveryStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganState;
import dev.polis.logtree.Log;
import dev.polis.logtree.Secret;
import dev.polis.process.Commands;
import dev.polis.storage.slots.Slots;
import dev.polis.supervision.Context;
import dev.polis.wire.storage.RecoveryShare;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Keeps the state directory of a node and its data volume. Thread-safe. */
final class StorageService implements Storage {

  /** The name of the value that one instance passes to the next. */
  private static final String DATA = "data-volume";

  // Short enough that the node reports a lost volume before etcd's timeouts obscure the cause; one
  // check costs a millisecond.
  private static final Duration CHECK_EVERY = Duration.ofSeconds(2);

  private final Log log;
  private final Root root;
  private final VolumeCatalog catalog;
  private final VolumeManager manager;
  private final SealedConfigurationFile sealed;
  private final EnrolmentJournalFile journal;
  private final RecoveryShareFile share;
  private final MachineShareFile machineShare;
  private final MachineAttester attester;
  private final RecoveryCheck recovery;
  private final StorageSecurity preferred;
  private final Slots slotsOrNull;

  private StorageService(
      Root root, VolumeCatalog catalog, StorageSettings settings, Sealer sealer, Log log)
      throws FileException {
    this.log = log;
    this.root = root;
    this.catalog = catalog;
    this.journal = new EnrolmentJournalFile(root.esp().enrolmentJournal());
    this.share = new RecoveryShareFile(root.esp().recoveryShare());
    this.sealed =
        new SealedConfigurationFile(
            root.esp().sealedConfiguration(),
            root.esp().recoveryConfiguration(),
            share,
            sealer,
            this::requireSettled);
    this.machineShare = new MachineShareFile(root.esp().machineShare(), sealer);
    this.manager = new VolumeManager(root, catalog, sealed);
    this.recovery = new RecoveryCheck(root, share);
    this.attester = settings.attester();
    this.preferred = preferred(settings.security());
    this.slotsOrNull =
        settings
            .slots()
            .map(folder -> new Slots(folder, new Commands(), sealer, this::reseal, log))
            .orElse(null);
  }

  /**
   * Prepares the state directory and adopts a mounted volume of a former instance. If it takes over
   * from a running instance, it must find the same volume mounted.
   *
   * @throws FileException if the directory is not usable, or this machine cannot give the requested
   *     security
   */
  static StorageService open(
      StorageSettings settings,
      Sealer sealer,
      VolumeDaemons daemons,
      Log log,
      HandOvers.Predecessor predecessor)
      throws FileException, InterruptedException {
    // All checks that may fail come before the hand-over from the other instance.
    Root root = StateDirectory.prepare(settings.root());
    VolumeTools tools = new VolumeTools(new Commands(), VolumeTools.isRoot());
    VolumeCatalog catalog =
        VolumeCatalog.of(root, settings.volumeBytes(), settings.device(), tools, daemons);
    return new StorageService(root, catalog, settings, sealer, log).adopted(predecessor.take());
  }

  private StorageService adopted(OrganState taken) throws FileException, InterruptedException {
    manager.adopt();
    Optional<DataStatus> before = taken.find(DATA, DataStatus.class);
    if (before.isPresent()
        && before.get() instanceof DataStatus.Mounted mounted
        && !(status() instanceof DataStatus.Mounted)) {
      throw new HandOverException(
          "the previous instance has mounted the data volume (%s), but this instance finds it %s; give both the same state directory and configuration"
              .formatted(mounted.describe(), describe()));
    }
    log.info("State directory %s; data volume: %s", root, describe());
    return this;
  }

  // ---- hand-over between instances

  /** Waits for an operation on the volume; the mount and its programs stay. */
  OrganState give() throws InterruptedException {
    manager.hold();
    return OrganState.NONE.with(DATA, status());
  }

  void resume(OrganState state) {
    manager.goOn();
  }

  // ---- the volume

  /**
   * Returns the configured security, which must be possible; without one, returns the strongest
   * possible and logs the reason why it is not stronger.
   */
  private StorageSecurity preferred(StorageSettings.Wish wish) throws FileException {
    Optional<StorageSecurity> named = wish.named();
    if (named.isPresent()) {
      catalog.usable(named.get());
      return named.get();
    }
    if (!catalog.asRoot()) {
      log.info(
          "the node does not run as root: a new data volume will be INSECURE, unless you ask for more");
      return StorageSecurity.INSECURE;
    }
    for (StorageSecurity candidate :
        List.of(StorageSecurity.AUTHENTICATED_ENCRYPTED, StorageSecurity.ENCRYPTED)) {
      try {
        catalog.usable(candidate);
        return candidate;
      } catch (FileException e) {
        log.warning("%s", e.getMessage());
      }
    }
    return StorageSecurity.INSECURE;
  }

  /** Checks the volume periodically, and logs its loss. */
  void watch(Context context) throws FileException, InterruptedException {
    context.healthy();
    while (!context.cancelled()) {
      boolean before = status() instanceof DataStatus.Mounted;
      manager.check();
      if (before && status() instanceof DataStatus.NotMounted(var reason)) {
        context.log().error("%s", reason);
      }
      Thread.sleep(CHECK_EVERY);
    }
  }

  /** Unmounts the volume at a power-off, and logs each failure. */
  void unmount() {
    try {
      manager.close();
    } catch (FileException e) {
      log.error("The data volume stays mounted: %s", e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private DataStatus status() {
    return manager.status().peek().orElseThrow();
  }

  private String describe() {
    return switch (status()) {
      case DataStatus.Mounted mounted -> mounted.describe();
      case DataStatus.NotMounted(String reason) -> "not mounted: " + reason;
    };
  }

  @Override
  public Root root() {
    return root;
  }

  @Override
  public Value<DataStatus> data() {
    return manager.status();
  }

  @Override
  public void require(StorageSecurity security) throws StorageException {
    catalog.usable(security);
  }

  @Override
  public StorageSecurity preferred() {
    return preferred;
  }

  @Override
  public void mountNew(StorageSecurity security, UnlockKeys keys)
      throws FileException, InterruptedException {
    log.info("Making a data volume with security %s", security);
    manager.mountNew(security, keys);
    log.info("Data volume: %s", describe());
  }

  @Override
  public void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws FileException, InterruptedException {
    manager.mountExisting(configuration, clusterUnlockKey);
    log.info("Data volume: %s", describe());
  }

  @Override
  public void mountExisting(SealedConfiguration configuration)
      throws FileException, InterruptedException {
    manager.mountExisting(configuration);
    log.info("Data volume: %s", describe());
  }

  @Override
  public SealedConfigurationStore sealedConfiguration() {
    return sealed;
  }

  @Override
  public EnrolmentJournalStore enrolmentJournal() {
    return journal;
  }

  @Override
  public MachineShareStore machineShare() {
    return machineShare;
  }

  @Override
  public MachineAttester attester() {
    return attester;
  }

  @Override
  public RecoveryShareStore recoveryShare() {
    return new Shares();
  }

  /** Seals the owner's copy of the sealed configuration to each new recovery key, too. */
  private final class Shares implements RecoveryShareStore {
    @Override
    public boolean exists() throws FileException {
      return share.exists();
    }

    @Override
    public Stored<RecoveryShare> read() {
      return share.read();
    }

    @Override
    public void seal(Secret clusterUnlockKey, byte[] recoveryPublicKey) throws FileException {
      share.seal(clusterUnlockKey, recoveryPublicKey);
      sealed.copyAgain();
    }

    @Override
    public Secret open(Secret recoveryPrivateKey) throws FileException {
      return share.open(recoveryPrivateKey);
    }
  }

  /** Returns the slots of this machine; empty if others maintain its system. */
  Optional<Slots> slots() {
    return Optional.ofNullable(slotsOrNull);
  }

  private void requireSettled() throws FileException {
    if (slotsOrNull != null) {
      slotsOrNull.requireSettled();
    }
  }

  /** Seals again all that is bound to this machine. */
  private void reseal() throws FileException {
    sealed.reseal();
    machineShare.reseal();
  }

  /** Checks the file of the sealed configuration without its sealer. */
  Stored<?> sealedIntact() {
    return sealed.intact();
  }

  @Override
  public RecoveryStatus recovery() {
    return recovery.of(status());
  }
}
