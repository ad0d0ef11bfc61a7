package dev.polis.storage;

import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.EnrolmentJournalStore;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.RecoveryStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOvers;
import dev.polis.health.FolderCheck;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the storage organ. */
@Component(
    service = Storage.class,
    immediate = true,
    configurationPid = "dev.polis.storage",
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = StorageConfig.class)
public final class StorageComponent implements Storage {

  private final BootReport boot;
  private final HandOvers.Membership<StorageService> membership;
  private final StorageService service;
  private final Subtree subtree;
  private final HealthScope health;
  private final AuditLog audit;

  /** Prepares the state directory and adopts what is mounted. */
  @Activate
  public StorageComponent(
      StorageConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      @Reference HandOvers handOvers,
      @Reference ProcessManager processes,
      @Reference RpcHost rpc,
      @Reference(
              cardinality = ReferenceCardinality.OPTIONAL,
              policyOption = ReferencePolicyOption.GREEDY)
          Sealer sealerOrNull)
      throws Exception {
    this.boot = boot;
    StorageSettings settings = StorageSettings.of(config);
    Sealer sealer = Optional.ofNullable(sealerOrNull).orElseGet(SealerNone::new);
    this.membership =
        handOvers.join(
            "storage",
            predecessor ->
                StorageService.open(
                    settings,
                    sealer,
                    new VolumeDaemonsManaged(processes),
                    logs.log("root.storage"),
                    predecessor));
    this.service = membership.instance();
    // This comes last, so that a refusal above leaves nothing behind.
    this.subtree = supervisor.organ("storage");
    subtree.run("volume", service::watch);
    this.health = healths.organ("storage", subtree.dn());
    subtree.run("health", new StorageHealth(service, health)::run);
    subtree.run("daemons", new DaemonHealth(processes, health)::run);
    ClockCheck clock = ClockCheck.of(service.root());
    subtree.run("clock", SelfCheck.task(health, clock::look));
    subtree.run(
        "folders",
        SelfCheck.task(health, new FolderCheck("storage", this::folders, "restart the node")));
    subtree.run("room", SelfCheck.task(health, RoomCheck.of(service.root())::look));
    this.audit = rpc.audit();
    subtree.run("audit", new AuditVolume(service, audit, clock)::run);
    subtree.run("audit-health", StatusHealth.task(audit.status(), health, AuditVolume::judge));
  }

  /** Returns the folders that must exist in the present state of the volume. */
  private List<Path> folders() {
    Root root = service.root();
    List<Path> folders =
        new ArrayList<>(List.of(root.esp().path(), root.ephemeral().launcher().path()));
    if (service.data().peek().orElseThrow() instanceof DataStatus.Mounted) {
      folders.addAll(List.of(root.data().node().path(), AuditVolume.folder(root).path()));
    }
    return folders;
  }

  /** Stops watching; unmounts only if the work of this node ends. */
  @Deactivate
  void deactivate() {
    membership.leave(this::close);
  }

  private void close() {
    StopReason reason = boot.stopReason();
    health.close();
    subtree.close(reason);
    if (reason.endsWork()) {
      unmount();
    }
  }

  private void unmount() {
    try {
      audit.release();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    service.unmount();
  }

  @Override
  public Root root() {
    return service.root();
  }

  @Override
  public Value<DataStatus> data() {
    return service.data();
  }

  @Override
  public void require(StorageSecurity security) throws StorageException {
    service.require(security);
  }

  @Override
  public StorageSecurity preferred() {
    return service.preferred();
  }

  @Override
  public void mountNew(StorageSecurity security, UnlockKeys keys)
      throws FileException, InterruptedException {
    service.mountNew(security, keys);
  }

  @Override
  public void mountExisting(SealedConfiguration configuration, Secret clusterUnlockKey)
      throws FileException, InterruptedException {
    service.mountExisting(configuration, clusterUnlockKey);
  }

  @Override
  public void mountExisting(SealedConfiguration configuration)
      throws FileException, InterruptedException {
    service.mountExisting(configuration);
  }

  @Override
  public SealedConfigurationStore sealedConfiguration() {
    return service.sealedConfiguration();
  }

  @Override
  public EnrolmentJournalStore enrolmentJournal() {
    return service.enrolmentJournal();
  }

  @Override
  public RecoveryShareStore recoveryShare() {
    return service.recoveryShare();
  }

  @Override
  public RecoveryStatus recovery() {
    return service.recovery();
  }
}
