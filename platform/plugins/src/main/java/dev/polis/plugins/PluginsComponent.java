package dev.polis.plugins;

import dev.polis.base.boot.StopReason;
import dev.polis.base.values.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.PluginReports;
import dev.polis.health.PluginStatus;
import dev.polis.health.SelfCheck;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.plugins.local.LocalInventory;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustSource;
import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.swap.KeptTrust;
import dev.polis.plugins.swap.PluginsHealth;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.plugins.swap.SwapListener;
import dev.polis.plugins.swap.SwapOptions;
import dev.polis.plugins.swap.SwapOrder;
import dev.polis.plugins.swap.SwapParts;
import dev.polis.plugins.swap.SwapRefusedException;
import dev.polis.plugins.swap.SwapStatus;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.osgi.framework.BundleContext;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.metatype.annotations.Designate;

/**
 * Wires the swap engine, registers the Plugins service for the management listener, and offers the
 * node's plugins to organs.
 */
@Component(
    service = {BindableService.class, LocalPlugins.class, PluginReports.class},
    property = "polis.rpc.listener=management",
    configurationPid = "dev.polis.plugins",
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = PluginsConfig.class)
public final class PluginsComponent implements BindableService, LocalPlugins, PluginReports {
  private static final String AUDIT = "audit";

  private final List<SwapListener> listeners = new CopyOnWriteArrayList<>();
  private final List<TrustSource> trusted = new CopyOnWriteArrayList<>();
  private final Subtree subtree;
  private final PluginsHealth own;
  private final KeptTrust kept;
  private final SwapEngine engine;
  private final NodeInventory inventory;
  private final DistributionNote note;
  private final PluginsService service;
  private final PluginReporter reporter;

  /**
   * Opens the store and makes the engine.
   *
   * @param context the context of this bundle
   * @throws IOException if the store cannot be opened
   */
  @Activate
  public PluginsComponent(
      BundleContext context,
      PluginsConfig config,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference ServiceComponentRuntime components,
      @Reference ConfigurationAdmin configurations,
      @Reference ProcessManager processes,
      @Reference RpcHost rpc)
      throws IOException {
    PluginsSettings settings = PluginsSettings.of(config);
    PluginStore store = PluginStore.open(settings.store());
    Log log = logs.log(AUDIT);
    AuditLog files = rpc.audit();
    SwapParts.Audit audit =
        line -> {
          log.info("%s", line);
          files.note(line);
        };
    kept = KeptTrust.open(store, audit);
    PluginVerifier verifier =
        new PluginVerifier(PlatformVersion.current(), settings.distribution());
    own = new PluginsHealth(health);
    GraphCall graph = new GraphCall(context, components);
    engine =
        new SwapEngine(
            new SwapParts(
                context,
                store,
                (bundle, manifest) -> signer(verifier, bundle, manifest),
                health,
                own,
                components,
                configurations,
                settings.commandLine(),
                () -> List.copyOf(listeners),
                () -> children(processes),
                audit),
            settings.swap());
    StartReport.show(store, own);
    inventory = new NodeInventory(store, engine, this::roots, audit);
    note = new DistributionNote(own, inventory.inventory());
    service = new PluginsService(new BundleDirectory(context), engine, inventory, graph);
    reporter =
        new PluginReporter(
            context, store, engine, verifier, this::knownRoots, graph::all, graph::contracts);
    subtree = supervisor.organ("plugins");
    subtree.run("store", SelfCheck.task(own, new StoreCheck(store)));
  }

  /**
   * Names the signer of a plugin.
   *
   * @throws SwapRefusedException unless the cluster trusts the key at this moment
   */
  private String signer(PluginVerifier verifier, Path bundle, byte[] manifest)
      throws SwapRefusedException, IOException {
    try {
      return "signed by " + verifier.verify(bundle, manifest, roots()).signer();
    } catch (PluginRefusedException e) {
      throw new SwapRefusedException(e.getMessage(), e);
    }
  }

  /** Returns the keys that the cluster trusts, or those of the copy if no source knows them. */
  private TrustRoots roots() {
    trusted.stream().findFirst().map(TrustSource::roots).ifPresent(kept::update);
    return kept.roots();
  }

  /** Returns the keys that the cluster trusts; empty if this node has never received any. */
  private Optional<TrustRoots> knownRoots() {
    TrustRoots roots = roots();
    return Optional.of(roots).filter(known -> !trusted.isEmpty() || !known.keys().isEmpty());
  }

  @Override
  public List<PluginStatus> plugins() {
    return reporter.plugins();
  }

  private static List<String> children(ProcessManager processes) {
    return processes.records().stream()
        .filter(record -> record.state() == ProcessRecord.State.STARTED)
        .map(record -> "process %s (%d)".formatted(record.name(), record.pid()))
        .toList();
  }

  /** Adds a listener; Declarative Services call this when a part of the platform registers one. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addListener(SwapListener listener) {
    listeners.add(listener);
  }

  /** Removes a listener; Declarative Services call this when it goes. */
  void removeListener(SwapListener listener) {
    listeners.remove(listener);
  }

  /** Adds a source of the cluster's trusted keys; Declarative Services call this when it comes. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addTrust(TrustSource source) {
    trusted.add(source);
    inventory.refresh();
  }

  /** Reads the trusted keys again; Declarative Services call this when they change. */
  void updatedTrust(TrustSource source) {
    inventory.refresh();
  }

  /** Removes a source of trusted keys; Declarative Services call this when it goes. */
  void removeTrust(TrustSource source) {
    trusted.remove(source);
  }

  @Override
  public Value<LocalInventory> inventory() {
    return inventory.inventory();
  }

  @Override
  public Value<SwapStatus> newest() {
    return inventory.newest();
  }

  @Override
  public void want(ClusterWants wants) throws IOException {
    inventory.want(wants);
  }

  @Override
  public StagedFiles staged() {
    return inventory.staged();
  }

  @Override
  public void refresh() {
    inventory.refresh();
  }

  @Override
  public Optional<Path> file(Digest digest) {
    return inventory.file(digest);
  }

  @Override
  public Value<SwapStatus> begin(SwapOrder order, SwapOptions options) throws SwapRefusedException {
    return inventory.begin(order, options);
  }

  @Override
  public ServerServiceDefinition bindService() {
    return service.bindService();
  }

  /** Closes the engine; Declarative Services call this. */
  @Deactivate
  void close() {
    subtree.close(StopReason.PROCESS_RESTART);
    service.close();
    engine.close();
    note.close();
    inventory.close();
    own.close();
  }
}
