package dev.polis.consensus;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.boot.BootReport;
import dev.polis.boot.StopReason;
import dev.polis.etcd.EtcdAccess;
import dev.polis.event.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.time.InstantSource;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the consensus organ. */
@Component(
    service = {Consensus.class, MetricsExporter.class},
    configurationPid = "dev.polis.consensus",
    immediate = true)
@Designate(ocd = ConsensusConfig.class)
public final class ConsensusComponent implements Consensus, MetricsExporter {

  private final BootReport boot;
  private final Subtree organ;
  private final HealthScope health;
  private final Log log;
  private final ConsensusService service;

  /** Activates the organ; nothing starts before somebody asks for it. */
  @Activate
  public ConsensusComponent(
      ConsensusConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      @Reference ProcessManager processes,
      @Reference Storage storage,
      @Reference Network network) {
    // Before anything is opened: a refusal here leaves nothing behind.
    ConsensusSettings settings = ConsensusSettings.of(config);
    this.boot = boot;
    this.organ = supervisor.organ("consensus");
    this.log = logs.log(organ.dn());
    this.service =
        new ConsensusService(
            new ConsensusRun.Parts(
                settings,
                new ConsensusFiles(storage.root()),
                network.status(),
                processes,
                boot,
                InstantSource.system(),
                organ.dn() + "." + ConsensusRun.PROCESS,
                _ -> {}),
            storage.data(),
            organ,
            log);
    health = healths.organ("consensus", organ.dn());
    organ.run("health", StatusHealth.task(service.status(), health, ConsensusHealth::of));
  }

  /** Leaves etcd to the next instance, unless the node goes down for good. */
  @Deactivate
  void deactivate() {
    health.close();
    StopReason reason = boot.stopReason();
    try {
      if (reason.endsWork()) {
        service.stop(reason);
      }
    } catch (InterruptedException hurried) {
      log.warning("interrupted while stopping etcd; it may still run");
      Thread.currentThread().interrupt();
    } finally {
      service.close(reason);
      organ.close(reason);
    }
  }

  @Override
  public void startNew(ConsensusIdentity identity) {
    service.startNew(identity);
  }

  @Override
  public void startExisting(ConsensusIdentity identity) {
    service.startExisting(identity);
  }

  @Override
  public void stop() throws InterruptedException {
    service.stop();
  }

  @Override
  public Value<ConsensusStatus> status() {
    return service.status();
  }

  @Override
  public EtcdAccess access(String user) {
    return service.access(user);
  }

  @Override
  public ConsensusMember memberInfo() {
    return service.memberInfo();
  }

  @Override
  public ConsensusOverview overview() throws InterruptedException {
    return service.overview();
  }

  @Override
  public String exporterName() {
    return "etcd";
  }

  @Override
  public MetricsAnswer scrape() {
    return service.scrape();
  }
}
