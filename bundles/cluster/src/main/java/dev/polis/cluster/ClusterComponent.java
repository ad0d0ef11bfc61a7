package dev.polis.cluster;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.Curator;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.boot.BootReport;
import dev.polis.cluster.NodeParameterSource.Form;
import dev.polis.event.Value;
import dev.polis.files.layout.Root;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the cluster organ. */
@Component(service = ClusterManager.class, configurationPid = "dev.polis.cluster", immediate = true)
@Designate(ocd = ClusterConfig.class)
public final class ClusterComponent implements ClusterManager {

  private final BootReport boot;
  private final Subtree subtree;
  private final HealthScope health;
  private final ClusterService service;

  /** Activates the organ, which begins to enrol the node at once. */
  @Activate
  public ClusterComponent(
      ClusterConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry healths,
      @Reference RpcHost rpc,
      @Reference Storage storage,
      @Reference Network network,
      @Reference Consensus consensus,
      @Reference Curator curator) {
    this.boot = boot;
    this.subtree = supervisor.organ("cluster");
    Log log = logs.log(subtree.dn() + ".manager");
    EnrolmentOrgans organs =
        new EnrolmentOrgans(
            storage,
            network,
            consensus,
            curator,
            rpc,
            boot,
            Duration.ofSeconds(config.consensus_ready()));
    EnrolmentSteps steps = new EnrolmentSteps(boot, log, config.halt_after());
    this.service =
        new ClusterService(
            organs,
            new EnrolmentMachine(log),
            new NodeParametersLoader(sources(config, storage.root().esp()), log),
            new BootstrapFlow(organs, steps, new SecureRandom(), InstantSource.system()),
            new JoinFlow(organs, steps, new RecoveryKeyFile(config.recovery_key())),
            steps);
    subtree.run("manager", service::run);
    health = healths.organ("cluster", subtree.dn());
    subtree.run("health", StatusHealth.task(service.status(), health, ClusterHealth::of));
  }

  private static List<NodeParameterSource> sources(ClusterConfig config, Root.Esp esp) {
    List<NodeParameterSource> sources = new ArrayList<>();
    if (!config.parameters().isEmpty()) {
      Path file = Path.of(config.parameters());
      sources.add(new NodeParameterSource("command line", file, Form.of(file), true));
    }
    sources.add(new NodeParameterSource("fw_cfg", Path.of(config.fw_cfg()), Form.BINARY, false));
    sources.add(new NodeParameterSource("ESP", esp.parameters().path(), Form.BINARY, false));
    sources.add(
        new NodeParameterSource("ESP, JSON", esp.parametersJson().path(), Form.JSON, false));
    return sources;
  }

  /** Stops enrolling or following; what was started goes on. */
  @Deactivate
  void deactivate() {
    health.close();
    subtree.close(boot.stopReason());
  }

  @Override
  public Value<ClusterStatus> status() {
    return service.status();
  }

  @Override
  public ClusterStatus awaitHome() throws InterruptedException {
    return service.awaitHome();
  }
}
