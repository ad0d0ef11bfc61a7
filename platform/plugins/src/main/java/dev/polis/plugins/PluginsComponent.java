package dev.polis.plugins;

import dev.polis.wire.plugins.PluginsGrpc;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Puts the Plugins service on the management listener. */
@Component(service = BindableService.class, property = "polis.rpc.listener=management")
public final class PluginsComponent implements BindableService {
  private final PluginsGrpc.PluginsImplBase service;

  /**
   * @param context the bundle's own
   */
  @Activate
  public PluginsComponent(BundleContext context) {
    service = new PluginsService(new BundleDirectory(context));
  }

  @Override
  public ServerServiceDefinition bindService() {
    return service.bindService();
  }
}
