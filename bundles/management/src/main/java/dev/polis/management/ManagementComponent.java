package dev.polis.management;

import dev.polis.boot.BootReport;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/** Wires the management organ. */
@Component(
    service = {},
    immediate = true)
public final class ManagementComponent {
  private final BootReport boot;
  private final ManagementService service;
  private final List<ServiceRegistration<BindableService>> registrations;

  /** Called by Declarative Services. */
  @Activate
  public ManagementComponent(
      BundleContext bundle,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference RpcHost rpc) {
    this.boot = boot;
    this.service = new ManagementService(boot, logs, supervisor, health, rpc);
    Dictionary<String, Object> onManagement = new Hashtable<>();
    onManagement.put(RpcHost.LISTENER, RpcHost.MANAGEMENT);
    this.registrations =
        service.endpoints().stream()
            .map(each -> bundle.registerService(BindableService.class, each, onManagement))
            .toList();
  }

  /** Takes the endpoints back, which lets calls in flight finish, then ends the streams. */
  @Deactivate
  void deactivate() {
    registrations.forEach(ServiceRegistration::unregister);
    service.close(boot.stopReason());
  }
}
