package dev.polis.management;

import dev.polis.base.boot.BootReport;
import dev.polis.health.HealthRegistry;
import dev.polis.health.calls.HealthCalls;
import dev.polis.health.calls.ListenerHealth;
import dev.polis.health.calls.ServingOrgan;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.LogCalls;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.stream.Stream;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Serves the endpoints of the management organ, and owns their streams and its subtree. */
@Component(
    service = {},
    immediate = true)
public final class ManagementComponent {
  /** The most members that may read the log at the same time; each takes 200 KiB at most. */
  private static final int LOG_READERS = 128;

  private final BootReport boot;
  private final ServingOrgan organ;
  private final List<ServiceRegistration<BindableService>> registrations;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public ManagementComponent(
      BundleContext bundle,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference RpcHost rpc) {
    this.boot = boot;
    this.organ = new ServingOrgan("management", supervisor, health);
    PowerRequest power = new PowerRequest(boot, logs.log(organ.dn()));
    organ.follow(rpc.listeners(), ListenerHealth.encrypted(RpcHost.MANAGEMENT, RpcHost.DEBUG));
    Dictionary<String, Object> onManagement = new Hashtable<>();
    onManagement.put(RpcHost.LISTENER, RpcHost.MANAGEMENT);
    this.registrations =
        Stream.<BindableService>of(
                new NodeManagementEndpoint(new LogCalls(logs, organ.streams(), LOG_READERS), power),
                new RuntimeEndpoint(power),
                new AuditEndpoint(rpc.audit(), organ.streams(), rpc.computing()),
                new HealthEndpoint(new HealthCalls(health, supervisor, boot)))
            .map(each -> bundle.registerService(BindableService.class, each, onManagement))
            .toList();
  }

  /** Withdraws the endpoints, which lets running calls finish, then ends the streams. */
  @Deactivate
  void deactivate() {
    registrations.forEach(ServiceRegistration::unregister);
    organ.close(boot.stopReason());
  }
}
