package dev.polis.management;

import dev.polis.boot.BootReport;
import dev.polis.boot.StopReason;
import dev.polis.health.HealthRegistry;
import dev.polis.health.calls.HealthCalls;
import dev.polis.health.calls.ListenerHealth;
import dev.polis.health.calls.ServingOrgan;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.List;

/** Owns the endpoints of the organ, their streams, and the organ's place in the tree. */
final class ManagementService {
  /** Members that may read the log at the same time; each takes 200 KiB at most. */
  private static final int LOG_READERS = 128;

  private final ServingOrgan organ;
  private final List<BindableService> endpoints;

  /** Opens the organ's subtree and begins to publish its health. */
  ManagementService(
      BootReport boot, LogTree logs, Supervisor supervisor, HealthRegistry health, RpcHost rpc) {
    this.organ = new ServingOrgan("management", supervisor, health);
    PowerRequest power = new PowerRequest(boot, logs.log(organ.dn()));
    this.endpoints =
        List.of(
            new NodeManagementEndpoint(new LogCalls(logs, organ.streams(), LOG_READERS), power),
            new RuntimeEndpoint(power),
            new AuditEndpoint(rpc.audit(), organ.streams(), rpc.computing()),
            new HealthEndpoint(new HealthCalls(health, supervisor, boot)));
    organ.follow(rpc.listeners(), ListenerHealth.encrypted(RpcHost.MANAGEMENT, RpcHost.DEBUG));
  }

  /** Returns what is to be served on the management listener. */
  List<BindableService> endpoints() {
    return endpoints;
  }

  /** Ends the streams that are still open. */
  void close(StopReason reason) {
    organ.close(reason);
  }
}
