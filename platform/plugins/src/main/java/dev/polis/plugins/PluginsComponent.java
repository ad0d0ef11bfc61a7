package dev.polis.plugins;

import dev.polis.health.HealthRegistry;
import dev.polis.health.PluginReports;
import dev.polis.health.PluginStatus;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.plugins.manifest.PlatformVersion;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustSource;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.StagedFiles;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.plugins.swap.SwapListener;
import dev.polis.plugins.swap.SwapParts;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.wire.plugins.PluginsGrpc;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import java.io.IOException;
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

/** Wires the swap engine, and puts the Plugins service on the management listener. */
@Component(
    service = {BindableService.class, PluginReports.class},
    property = "polis.rpc.listener=management",
    configurationPid = "dev.polis.plugins",
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = PluginsConfig.class)
public final class PluginsComponent implements BindableService, PluginReports {
  private static final String AUDIT = "audit";

  private final List<SwapListener> listeners = new CopyOnWriteArrayList<>();
  private final List<TrustSource> trusted = new CopyOnWriteArrayList<>();
  private final StartReport report;
  private final SwapEngine engine;
  private final PluginsGrpc.PluginsImplBase service;
  private final PluginReporter reporter;

  /**
   * Opens the store and makes the engine.
   *
   * @param context the bundle's own
   * @throws IOException if the store cannot be opened
   */
  @Activate
  public PluginsComponent(
      BundleContext context,
      PluginsConfig config,
      @Reference LogTree logs,
      @Reference HealthRegistry health,
      @Reference ServiceComponentRuntime components,
      @Reference ConfigurationAdmin configurations,
      @Reference ProcessManager processes)
      throws IOException {
    PluginsSettings settings = PluginsSettings.of(config);
    PluginStore store = PluginStore.open(settings.store());
    Log audit = logs.log(AUDIT);
    PluginVerifier verifier =
        new PluginVerifier(PlatformVersion.current(), settings.distribution());
    GraphCall graph = new GraphCall(context, components);
    engine =
        new SwapEngine(
            new SwapParts(
                context,
                store,
                new SignatureCheck(verifier, () -> roots().orElse(TrustRoots.NONE)),
                health,
                components,
                configurations,
                settings.commandLine(),
                () -> List.copyOf(listeners),
                () -> children(processes),
                line -> audit.info("%s", line)),
            settings.swap());
    report = StartReport.open(store, health);
    service =
        new PluginsService(new BundleDirectory(context), engine, StagedFiles.of(store), graph);
    reporter =
        new PluginReporter(
            context, store, engine, verifier, this::roots, graph::all, graph::contracts);
  }

  /** Returns the keys that the cluster trusts; empty while nobody knows them. */
  private Optional<TrustRoots> roots() {
    return trusted.stream().findFirst().map(TrustSource::roots);
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

  /** Called by Declarative Services when a part of the platform wants to know of swaps. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addListener(SwapListener listener) {
    listeners.add(listener);
  }

  /** Called by Declarative Services when it goes. */
  void removeListener(SwapListener listener) {
    listeners.remove(listener);
  }

  /** Called by Declarative Services when somebody knows which keys the cluster trusts. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addTrust(TrustSource source) {
    trusted.add(source);
  }

  /** Called by Declarative Services when it goes. */
  void removeTrust(TrustSource source) {
    trusted.remove(source);
  }

  @Override
  public ServerServiceDefinition bindService() {
    return service.bindService();
  }

  /** Called by Declarative Services. */
  @Deactivate
  void close() {
    engine.close();
    report.close();
  }
}
