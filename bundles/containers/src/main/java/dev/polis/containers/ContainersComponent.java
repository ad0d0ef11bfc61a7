package dev.polis.containers;

import dev.polis.api.containers.Containers;
import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.api.storage.Storage;
import dev.polis.base.values.Value;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.Supervisor;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the organ of the container runtime. */
@Component(service = Containers.class, configurationPid = ContainersSettings.PID, immediate = true)
@Designate(ocd = ContainersConfig.class)
public final class ContainersComponent implements Containers {

  private final HandOvers.Membership<ContainersService> membership;
  private final ContainersService service;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public ContainersComponent(
      ContainersConfig config,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference HandOvers handOvers,
      @Reference ProcessManager processes,
      @Reference Storage storage) {
    ContainersSettings settings = ContainersSettings.of(config);
    ContainersService.Parts parts =
        new ContainersService.Parts(
            storage.root(), storage.data(), processes, supervisor, health, logs);
    this.membership =
        handOvers.join(
            "containers", predecessor -> ContainersService.start(settings, parts, predecessor));
    this.service = membership.instance();
  }

  @Deactivate
  void deactivate() {
    membership.leave();
  }

  @Override
  public void start(SandboxRequest request) {
    service.start(request);
  }

  @Override
  public void stop() throws InterruptedException {
    service.stop();
  }

  @Override
  public Value<ContainersStatus> status() {
    return service.status();
  }

  @Override
  public List<String> load(InputStream archive) throws IOException, InterruptedException {
    return service.load(archive);
  }

  @Override
  public List<String> images() throws InterruptedException {
    return service.images();
  }
}
