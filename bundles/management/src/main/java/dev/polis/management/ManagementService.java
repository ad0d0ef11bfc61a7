package dev.polis.management;

import dev.polis.boot.BootReport;
import dev.polis.boot.StopReason;
import dev.polis.event.Value;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.health.calls.HealthCalls;
import dev.polis.health.calls.ListenerHealth;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcListenerStatus;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.List;

/** Owns the endpoints of the organ, their streams, and the organ's place in the tree. */
final class ManagementService {
  private final Subtree subtree;
  private final HealthScope scope;
  private final CallStreams streams = new CallStreams();
  private final List<BindableService> endpoints;

  /** Opens the organ's subtree and begins to publish its health. */
  ManagementService(
      BootReport boot,
      LogTree logs,
      Supervisor supervisor,
      HealthRegistry health,
      Value<List<RpcListenerStatus>> listeners) {
    this.subtree = supervisor.organ("management");
    this.endpoints =
        List.of(
            new NodeManagementEndpoint(
                new LogCalls(logs, streams), new PowerRequest(boot, logs.log(subtree.dn()))),
            new HealthEndpoint(new HealthCalls(health, supervisor, boot)));
    this.scope = health.organ("management", subtree.dn());
    subtree.run(
        "health",
        StatusHealth.task(listeners, scope, ListenerHealth.encrypted(RpcHost.MANAGEMENT)));
  }

  /** Returns what is to be served on the management listener. */
  List<BindableService> endpoints() {
    return endpoints;
  }

  /** Ends the streams that are still open. */
  void close(StopReason reason) {
    scope.close();
    streams.close();
    subtree.close(reason);
  }
}
