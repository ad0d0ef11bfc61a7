package dev.polis.management;

import dev.polis.boot.BootReport;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Wires the management organ, and is its service on the listener of the management. */
@Component(service = BindableService.class, property = RpcHost.LISTENER + "=" + RpcHost.MANAGEMENT)
public final class ManagementComponent implements BindableService {
  /** Where the organ logs. */
  static final String DN = "root.management";

  private final CallStreams streams = new CallStreams();
  private final NodeManagementService service;

  /** Called by Declarative Services. */
  @Activate
  public ManagementComponent(@Reference LogTree logs, @Reference BootReport boot) {
    PowerRequest power = new PowerRequest(boot, logs.log(DN));
    this.service = new NodeManagementService(new LogCalls(logs, streams), power);
  }

  @Override
  public ServerServiceDefinition bindService() {
    return service.bindService();
  }

  /** Called after the service was unregistered, which has ended its streams already. */
  @Deactivate
  void deactivate() {
    streams.close();
  }
}
