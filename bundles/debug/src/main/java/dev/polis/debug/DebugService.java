package dev.polis.debug;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.calls.HealthCalls;
import dev.polis.health.calls.ListenerHealth;
import dev.polis.health.calls.ServingOrgan;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.nio.file.Path;
import java.util.List;
import org.osgi.framework.BundleContext;

/** Owns the endpoints of the organ, their streams, and the organ's place in the tree. */
final class DebugService {
  private static final String OFF = "switched-off";
  private static final String SHELL = "shell-on";
  private static final String AUDIT = "audit";

  /** Holds the services of other organs for the answers. */
  record Sources(DebugConditions conditions, DebugImages images, DebugKubeconfig kubeconfig) {}

  private static final Path PROC = Path.of("/proc");
  private static final Path CGROUPS = Path.of("/sys/fs/cgroup");

  private final ServingOrgan organ;
  private final List<BindableService> endpoints;
  private final BindableService images;

  /** Opens the organ's subtree and begins to publish its health. */
  DebugService(
      BundleContext bundle,
      DebugSettings settings,
      Sources sources,
      BootReport boot,
      LogTree logs,
      Supervisor supervisor,
      HealthRegistry health,
      RpcHost rpc) {
    this.organ = new ServingOrgan("debug", supervisor, health);
    this.images = new ImagesEndpoint(sources.images(), organ.streams());
    Log log = logs.log(organ.dn());
    if (settings.shell() instanceof DebugSettings.Shell.On(Path folder)) {
      shell(folder, bundle, logs.log(AUDIT), rpc.audit());
    }
    boot.lastCrash()
        .ifPresent(crash -> organ.look("last-run", new LastRun(crash, health::plugins)::look));
    organ.look("descriptors", new DescriptorCheck(Path.of("/proc/self"))::look);
    organ.look("program", new ProgramCheck(Path.of("/proc/self"))::look);
    organ.look("memory", new MemoryCheck(PROC, CGROUPS)::look);
    organ.look("threads", new ThreadCheck(PROC, CGROUPS)::look);
    organ.look("processor", new ProcessorCheck(PROC, CGROUPS, System::nanoTime)::look);
    if (!settings.enabled()) {
      log.info("the debug services are switched off");
      organ.publish(HealthCondition.up(OFF, "switched off: dev.polis.debug.enabled is false"));
      this.endpoints = List.of();
      return;
    }
    log.warning(
        "the debug services are on and UNAUTHENTICATED: every client that reaches the listener"
            + " '%s' can read this node's log; set enabled=false for dev.polis.debug to turn"
            + " them off",
        RpcHost.DEBUG);
    this.endpoints =
        List.of(
            new DebugEndpoint(
                sources.conditions(),
                new DebugLogs(logs),
                new HealthCalls(health, supervisor, boot),
                sources.images()),
            new NodeDebugEndpoint(
                new LogCalls(logs, organ.streams(), settings.readers()),
                sources.images(),
                sources.kubeconfig(),
                organ.streams()));
    organ.follow(
        rpc.listeners(),
        ListenerHealth.plaintext(
            RpcHost.DEBUG,
            "free the port, or start the node with --set dev.polis.rpc.debug.port=PORT"));
  }

  private void shell(Path folder, BundleContext bundle, Log audit, AuditLog kept) {
    organ.publish(
        HealthCondition.up(SHELL, "a shell for developers is on: dev.polis.debug.shell is true"));
    organ.run("shell", new ShellServer(folder, bundle, audit, kept::note)::run);
  }

  /** Returns the services of the debug listener; empty if the organ is switched off. */
  List<BindableService> endpoints() {
    return endpoints;
  }

  /** Returns the services of the management listener. */
  BindableService images() {
    return images;
  }

  /** Ends the open streams. */
  void close(StopReason reason) {
    organ.close(reason);
  }
}
