package dev.polis.curator;

import dev.polis.rpc.RpcHost;
import io.grpc.BindableService;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/**
 * Registers gRPC services in the OSGi registry, from where the RPC host serves them on the curator
 * listener. Thread-safe. Its close unregisters them, and it ignores later registrations.
 */
final class EndpointRegistrations implements CuratorService.Endpoints {

  private final BundleContext bundle;
  // Guarded by this.
  private final List<ServiceRegistration<BindableService>> registrations = new ArrayList<>();
  private boolean closed;

  EndpointRegistrations(BundleContext bundle) {
    this.bundle = bundle;
  }

  @Override
  public synchronized void register(List<BindableService> services) {
    if (closed) {
      return;
    }
    Dictionary<String, Object> onCurator = new Hashtable<>();
    onCurator.put(RpcHost.LISTENER, RpcHost.CURATOR);
    for (BindableService service : services) {
      registrations.add(bundle.registerService(BindableService.class, service, onCurator));
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    withdraw();
  }

  @Override
  public synchronized void withdraw() {
    try {
      registrations.forEach(ServiceRegistration::unregister);
    } catch (IllegalStateException stopped) {
      // The framework has unregistered all services of a bundle that stopped.
    } finally {
      registrations.clear();
    }
  }
}
