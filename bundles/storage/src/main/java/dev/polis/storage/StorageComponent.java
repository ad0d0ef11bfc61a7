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
import dev.polis.base.boot.BootReport;
import dev.polis.base.values.Value;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcHost;
import dev.polis.storage.slots.SystemEndpoint;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.Hashtable;
import java.util.Map;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
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

  private final HandOvers.Membership<StorageInstance> membership;
  private final StorageService service;
  private final CallStreams streams = new CallStreams();
  private final ServiceRegistration<BindableService> endpoint;

  /** Prepares the state directory and adopts a mounted volume. */
  @Activate
  public StorageComponent(
      BundleContext bundle,
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
    StorageSettings settings = StorageSettings.of(config);
    Sealer sealer = Optional.ofNullable(sealerOrNull).orElseGet(settings::sealer);
    this.membership =
        handOvers.join(
            "storage",
            predecessor -> {
              StorageService opened =
                  StorageService.open(
                      settings,
                      sealer,
                      new VolumeDaemonsManaged(processes),
                      logs.log("root.storage"),
                      predecessor);
              return new StorageInstance(opened, supervisor, healths, processes, rpc.audit());
            });
    this.service = membership.instance().service();
    this.endpoint =
        bundle.registerService(
            BindableService.class,
            new SystemEndpoint(service.slots(), boot, streams),
            new Hashtable<>(Map.of(RpcHost.LISTENER, RpcHost.MANAGEMENT)));
  }

  @Deactivate
  void deactivate() {
    endpoint.unregister();
    streams.close();
    membership.leave();
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
  public MachineShareStore machineShare() {
    return service.machineShare();
  }

  @Override
  public MachineAttester attester() {
    return service.attester();
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
