package dev.polis.rpc;

import dev.polis.logtree.Log;
import io.grpc.BindableService;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.Filter;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;

/**
 * Serves every {@link BindableService} of the framework that names a listener, from its
 * registration until it is unregistered.
 *
 * <p>This class tracks services itself, since Declarative Services does not promise how long an
 * unbind may take: the thread that unregisters a service has to wait until its calls are drained.
 */
final class RpcWhiteboard implements ServiceTrackerCustomizer<BindableService, RpcRegistration> {
  private final BundleContext bundle;
  private final LocalRpcHost host;
  private final Log log;
  private final ServiceTracker<BindableService, RpcRegistration> tracker;
  private final Thread opening;

  private RpcWhiteboard(BundleContext bundle, LocalRpcHost host, Log log) {
    this.bundle = bundle;
    this.host = host;
    this.log = log;
    this.tracker = new ServiceTracker<>(bundle, offers(), this);
    // On another thread: the calling thread may be activating the host for an organ that is itself
    // served here, and the tracker would ask for that organ too early.
    this.opening = Thread.ofVirtual().name("rpc-whiteboard").unstarted(tracker::open);
  }

  /** Begins to serve the registered services. */
  static RpcWhiteboard open(BundleContext bundle, LocalRpcHost host, Log log) {
    RpcWhiteboard whiteboard = new RpcWhiteboard(bundle, host, log);
    whiteboard.opening.start();
    return whiteboard;
  }

  private static Filter offers() {
    String filter =
        "(&(%s=%s)(%s=*))"
            .formatted(Constants.OBJECTCLASS, BindableService.class.getName(), RpcHost.LISTENER);
    try {
      return FrameworkUtil.createFilter(filter);
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException("the filter is written here and is wrong: " + filter, e);
    }
  }

  @Override
  public RpcRegistration addingService(ServiceReference<BindableService> reference) {
    BindableService service = bundle.getService(reference);
    if (service == null) {
      log.error(
          "service of %s cannot be served: its component could not be activated; see that component's log",
          reference.getBundle().getSymbolicName());
      return null; // the tracker's contract: this service is not tracked
    }
    try {
      return host.serve(
          listeners(reference.getProperty(RpcHost.LISTENER)), service, ranking(reference));
    } catch (RuntimeException unusable) {
      // The framework would only print the exception; operators read this log.
      log.error(
          "service of %s cannot be served: %s",
          reference.getBundle().getSymbolicName(), unusable.getMessage());
      bundle.ungetService(reference);
      return null; // as above
    }
  }

  /** Reads the names of listeners from a service property: one string, or several. */
  private static List<String> listeners(Object property) {
    return switch (property) {
      case String[] several -> Arrays.asList(several);
      case Collection<?> several -> several.stream().map(String::valueOf).toList();
      default -> List.of(String.valueOf(property));
    };
  }

  private static int ranking(ServiceReference<?> reference) {
    return reference.getProperty(Constants.SERVICE_RANKING) instanceof Integer ranking
        ? ranking
        : 0;
  }

  @Override
  public void modifiedService(ServiceReference<BindableService> reference, RpcRegistration served) {
    // The listener of a service does not change while it is registered.
  }

  @Override
  public void removedService(ServiceReference<BindableService> reference, RpcRegistration served) {
    served.close();
    bundle.ungetService(reference);
  }

  /** Takes all services back and waits until their calls are drained. */
  void close() throws InterruptedException {
    opening.join();
    tracker.close();
  }
}
