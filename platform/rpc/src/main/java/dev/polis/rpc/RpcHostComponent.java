package dev.polis.rpc;

import dev.polis.event.Value;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import io.grpc.BindableService;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;

/**
 * The host as a service, and the whiteboard in front of it.
 *
 * <p>Services are tracked by hand rather than bound by Declarative Services: a provider's
 * unregistration has to wait here until its calls are drained, and DS makes no promise about how
 * long an unbind may take.
 */
@Component(service = RpcHost.class, configurationPid = "dev.polis.rpc", immediate = true)
@Designate(ocd = RpcHostConfiguration.class)
public final class RpcHostComponent implements RpcHost {
  private final LocalRpcHost host;
  private final Log log;
  private final ServiceTracker<BindableService, RpcRegistration> services;
  private final ServiceTracker<RpcValidator, RpcRegistration> validators;
  private final Thread opening;

  /** Called by Declarative Services. */
  @Activate
  public RpcHostComponent(
      BundleContext bundle, RpcHostConfiguration configuration, @Reference LogTree logs) {
    this.log = logs.log("rpc");
    this.host = new LocalRpcHost(settings(configuration), logs);
    this.services = new ServiceTracker<>(bundle, offers(), new Services(bundle));
    this.validators = new ServiceTracker<>(bundle, RpcValidator.class, new Validators(bundle));
    this.opening = Thread.ofVirtual().name("rpc-whiteboard").start(this::open);
  }

  /**
   * Not by the thread that activates this component: it may do so for an organ that both needs the
   * host and is served by it, and would then ask for that organ while it is being made.
   */
  private void open() {
    validators.open();
    services.open();
  }

  /** Called by Declarative Services. */
  @Deactivate
  public void deactivate() throws InterruptedException {
    opening.join();
    services.close();
    validators.close();
    host.close();
  }

  private static org.osgi.framework.Filter offers() {
    String filter =
        "(&(%s=%s)(%s=*))"
            .formatted(Constants.OBJECTCLASS, BindableService.class.getName(), LISTENER);
    try {
      return FrameworkUtil.createFilter(filter);
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException("the filter is written here and is wrong: " + filter, e);
    }
  }

  static RpcSettings settings(RpcHostConfiguration configuration) {
    InetAddress address = address("address", configuration.address());
    InetAddress debug =
        configuration.debug_address().isEmpty()
            ? address.isLoopbackAddress() ? address : InetAddress.getLoopbackAddress()
            : address("debug_address", configuration.debug_address());
    RpcSettings.Limits usual = RpcSettings.Limits.DEFAULT;
    return new RpcSettings(
        List.of(
            new RpcSettings.Listener(
                CURATOR, new InetSocketAddress(address, configuration.curator_port()), true),
            new RpcSettings.Listener(
                MANAGEMENT, new InetSocketAddress(address, configuration.management_port()), true),
            new RpcSettings.Listener(
                DEBUG, new InetSocketAddress(debug, configuration.debug_port()), false)),
        new RpcSettings.Limits(
            configuration.held_calls(),
            Duration.ofMillis(configuration.hold_ms()),
            Duration.ofMillis(configuration.drain_ms()),
            usual.retryDelay(),
            configuration.message_bytes(),
            configuration.connections(),
            configuration.calls_per_connection(),
            usual.handshakeTime(),
            usual.keepAliveTime(),
            usual.keepAliveMinimum()));
  }

  private static InetAddress address(String key, String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "dev.polis.rpc: %s is \"%s\", which is no IP address".formatted(key, text), e);
    }
  }

  @Override
  public void identify(NodeCredentials credentials) {
    host.identify(credentials);
  }

  @Override
  public void forget() {
    host.forget();
  }

  @Override
  public void revoke(Crl list) {
    host.revoke(list);
  }

  @Override
  public Optional<Crl> revoked() {
    return host.revoked();
  }

  @Override
  public RpcRegistration serve(String listener, BindableService service) {
    return host.serve(listener, service);
  }

  @Override
  public RpcRegistration validate(RpcValidator validator) {
    return host.validate(validator);
  }

  @Override
  public Value<List<RpcListenerStatus>> listeners() {
    return host.listeners();
  }

  @Override
  public RpcStatistics statistics() {
    return host.statistics();
  }

  /** Names of the listeners a service wants: one string, or several. */
  private static List<String> names(Object property) {
    return switch (property) {
      case String[] several -> Arrays.asList(several);
      case java.util.Collection<?> several -> several.stream().map(String::valueOf).toList();
      default -> List.of(String.valueOf(property));
    };
  }

  private final class Services
      implements ServiceTrackerCustomizer<BindableService, RpcRegistration> {
    private final BundleContext bundle;

    Services(BundleContext bundle) {
      this.bundle = bundle;
    }

    @Override
    public RpcRegistration addingService(ServiceReference<BindableService> reference) {
      BindableService service = bundle.getService(reference);
      if (service == null) {
        log.error(
            "service of %s cannot be served: its component could not be activated; see that component's log",
            reference.getBundle().getSymbolicName());
        return null;
      }
      try {
        return host.serve(names(reference.getProperty(LISTENER)), service, ranking(reference));
      } catch (RuntimeException unusable) {
        // The framework would only print it; the organ's owner looks here.
        log.error(
            "service of %s cannot be served: %s",
            reference.getBundle().getSymbolicName(), unusable.getMessage());
        bundle.ungetService(reference);
        return null;
      }
    }

    private static int ranking(ServiceReference<?> reference) {
      return reference.getProperty(Constants.SERVICE_RANKING) instanceof Integer ranking
          ? ranking
          : 0;
    }

    @Override
    public void modifiedService(
        ServiceReference<BindableService> reference, RpcRegistration served) {
      // Properties of a whiteboard service say where it belongs, which does not change while it is
      // registered.
    }

    @Override
    public void removedService(
        ServiceReference<BindableService> reference, RpcRegistration served) {
      served.close();
      bundle.ungetService(reference);
    }
  }

  private final class Validators
      implements ServiceTrackerCustomizer<RpcValidator, RpcRegistration> {
    private final BundleContext bundle;

    Validators(BundleContext bundle) {
      this.bundle = bundle;
    }

    @Override
    public RpcRegistration addingService(ServiceReference<RpcValidator> reference) {
      RpcValidator validator = bundle.getService(reference);
      return validator == null ? null : host.validate(validator);
    }

    @Override
    public void modifiedService(ServiceReference<RpcValidator> reference, RpcRegistration added) {
      // A validator has no properties.
    }

    @Override
    public void removedService(ServiceReference<RpcValidator> reference, RpcRegistration added) {
      added.close();
      bundle.ungetService(reference);
    }
  }
}
