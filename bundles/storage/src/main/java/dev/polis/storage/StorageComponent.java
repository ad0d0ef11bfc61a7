package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.EnrolmentJournalStore;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.Root;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.boot.BootReport;
import dev.polis.boot.StopReason;
import dev.polis.event.Value;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Context;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.nio.file.Path;
import java.time.Duration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.metatype.annotations.Designate;

/**
 * Wires the storage organ. Deactivating it leaves everything mounted, unless the machine is
 * switched off.
 */
@Component(
    service = Storage.class,
    immediate = true,
    configurationPid = "dev.polis.storage",
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = StorageConfiguration.class)
public final class StorageComponent implements Storage {

  // Often enough that a lost volume is known before etcd's own timeouts make a riddle of it; one
  // look costs a millisecond.
  private static final Duration CHECK_EVERY = Duration.ofSeconds(2);
  private static final int SMALLEST_MEBIBYTES = 512;

  private final BootReport boot;
  private final Log log;
  private final Root root;
  private final StorageSecurity preferred;
  private final VolumeManager manager;
  private final SealedConfigurationFile sealed;
  private final EnrolmentJournalFile journal;
  private final RecoveryShareFile share;
  private final Subtree subtree;

  /** Prepares the state directory and adopts what is mounted. */
  @Activate
  public StorageComponent(
      @Reference BootReport boot,
      @Reference ProcessManager processes,
      @Reference Supervisor supervisor,
      @Reference LogTree logs,
      @Reference(
              cardinality = ReferenceCardinality.OPTIONAL,
              policyOption = ReferencePolicyOption.GREEDY)
          Sealer sealer,
      StorageConfiguration configuration)
      throws StorageException, InterruptedException {
    this.boot = boot;
    root = StateDirectory.prepare(configuration.root());
    sealed =
        new SealedConfigurationFile(
            root.esp().sealedConfiguration(), sealer == null ? new SealerNone() : sealer);
    journal = new EnrolmentJournalFile(root.esp().enrolmentJournal());
    share = new RecoveryShareFile(root.esp().recoveryShare());
    manager = manager(processes, configuration);
    log = logs.log("root.storage");
    preferred = preferred(configuration.security());
    manager.adopt();
    log.info("State directory %s; data volume: %s", root, manager.status().peek().orElseThrow());
    // Last, so that a refusal above leaves nothing behind.
    subtree = supervisor.organ("storage");
    subtree.run("volume", this::watch);
  }

  private VolumeManager manager(ProcessManager processes, StorageConfiguration configuration)
      throws StorageException {
    if (configuration.volumeMebibytes() < SMALLEST_MEBIBYTES) {
      throw new StorageException(
          StorageException.Problem.UNSUPPORTED,
          "volumeMebibytes is %d, the smallest volume has %d"
              .formatted(configuration.volumeMebibytes(), SMALLEST_MEBIBYTES),
          "configure a larger one");
    }
    VolumeTools tools = new VolumeTools(new Commands(), Identity.root());
    return new VolumeManager(
        root,
        VolumeSet.of(
            root,
            (long) configuration.volumeMebibytes() << 20,
            Path.of(configuration.device()),
            tools,
            new VolumeDaemonsManaged(processes)),
        sealed,
        step -> {});
  }

  /**
   * The configured security, which must be possible; otherwise the strongest one that is, and why
   * no stronger one.
   */
  private StorageSecurity preferred(String configured) throws StorageException {
    if (!configured.equals(StorageConfiguration.STRONGEST)) {
      StorageSecurity wanted = parse(configured);
      manager.require(wanted);
      return wanted;
    }
    if (!Identity.root()) {
      log.info(
          "Not root: a new data volume will be INSECURE, unless the cluster asks for more (configure \"security\")");
      return StorageSecurity.INSECURE;
    }
    for (StorageSecurity candidate :
        new StorageSecurity[] {
          StorageSecurity.AUTHENTICATED_ENCRYPTED, StorageSecurity.ENCRYPTED
        }) {
      try {
        manager.require(candidate);
        return candidate;
      } catch (StorageException e) {
        log.warning("%s", e.getMessage());
      }
    }
    return StorageSecurity.INSECURE;
  }

  private static StorageSecurity parse(String configured) throws StorageException {
    for (StorageSecurity security : StorageSecurity.values()) {
      if (security.name().equals(configured)) {
        return security;
      }
    }
    throw new StorageException(
        StorageException.Problem.UNSUPPORTED,
        "storage security \"%s\" is unknown".formatted(configured),
        "configure strongest, INSECURE, ENCRYPTED or AUTHENTICATED_ENCRYPTED");
  }

  private void watch(Context context) throws StorageException, InterruptedException {
    context.healthy();
    while (!context.cancelled()) {
      boolean before = manager.status().peek().orElseThrow() instanceof DataStatus.Mounted;
      manager.check();
      if (before
          && manager.status().peek().orElseThrow() instanceof DataStatus.NotMounted(var reason)) {
        context.log().error("%s", reason);
      }
      Thread.sleep(CHECK_EVERY);
    }
  }

  /** Ends watching; unmounts only if the machine is switched off. */
  @Deactivate
  public void deactivate() {
    StopReason reason = boot.stopReason();
    subtree.close(reason);
    if (!reason.endsWork()) {
      return;
    }
    try {
      manager.close();
    } catch (StorageException e) {
      log.error("The data volume stays mounted: %s", e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
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
    manager.require(security);
  }

  @Override
  public StorageSecurity preferred() {
    return preferred;
  }

  @Override
  public void mountNew(StorageSecurity security, UnlockKeys keys)
      throws StorageException, InterruptedException {
    log.info("Making a data volume that is %s", security);
    manager.mountNew(security, keys);
    log.info("Data volume: %s", manager.status().peek().orElseThrow());
  }

  @Override
  public void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws StorageException, InterruptedException {
    manager.mountExisting(configuration, clusterUnlockKey);
    log.info("Data volume: %s", manager.status().peek().orElseThrow());
  }

  @Override
  public void mountExisting(SealedConfiguration configuration)
      throws StorageException, InterruptedException {
    manager.mountExisting(configuration);
    log.info("Data volume: %s", manager.status().peek().orElseThrow());
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
  public RecoveryShareStore recoveryShare() {
    return share;
  }
}
