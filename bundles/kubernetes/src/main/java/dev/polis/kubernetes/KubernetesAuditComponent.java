package dev.polis.kubernetes;

import dev.polis.api.storage.Storage;
import dev.polis.kubernetes.audit.AuditEndpoint;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcHost;
import io.grpc.BindableService;
import java.util.Hashtable;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/**
 * Serves the audit log of the API server, also on a node that has lost the role: the records stay.
 */
@Component(
    service = {},
    immediate = true)
public final class KubernetesAuditComponent {

  private final CallStreams streams = new CallStreams();
  private final ServiceRegistration<BindableService> registration;

  /** Starts the endpoint; Declarative Services call this. */
  @Activate
  public KubernetesAuditComponent(
      BundleContext bundle, @Reference Storage storage, @Reference RpcHost rpc) {
    this.registration =
        bundle.registerService(
            BindableService.class,
            new AuditEndpoint(storage, streams, rpc.computing()),
            new Hashtable<>(Map.of(RpcHost.LISTENER, RpcHost.MANAGEMENT)));
  }

  /** Removes the endpoint, which lets running calls finish, then ends the streams. */
  @Deactivate
  void deactivate() {
    registration.unregister();
    streams.close();
  }
}
