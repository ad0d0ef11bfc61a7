package dev.polis.rpc;

import dev.polis.base.values.Value;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.audit.AuditLog;
import io.grpc.BindableService;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Publishes the RPC host as a service, and serves the services that organs register. */
@Component(service = RpcHost.class, configurationPid = "dev.polis.rpc", immediate = true)
@Designate(ocd = RpcHostConfig.class)
public final class RpcHostComponent implements RpcHost {
  private final LocalRpcHost host;
  private final RpcWhiteboard whiteboard;

  /** Null if no listener file is configured. */
  private final ListenerFile file;

  /** Activates the host; its TLS listeners open with the node's credentials. */
  @Activate
  public RpcHostComponent(BundleContext bundle, RpcHostConfig config, @Reference LogTree logs) {
    RpcSettings settings = RpcSettings.of(config);
    StrangerRoom strangers = StrangerRoom.ofProcess();
    strangers.limit(settings.limits().connections(), settings.limits().strangerCalls());
    this.host =
        new LocalRpcHost(
            settings,
            logs,
            InstantSource.system(),
            new AuditLog(RpcSettings.audit(config), logs.log("rpc.audit")),
            strangers);
    this.whiteboard = RpcWhiteboard.open(bundle, host, logs.log("rpc"));
    this.file =
        config.listeners_file().isEmpty()
            ? null
            : ListenerFile.open(
                Path.of(config.listeners_file()), host.listeners(), logs.log("rpc"));
  }

  /** Ends all calls and closes the listeners. */
  @Deactivate
  public void deactivate() throws InterruptedException {
    if (file != null) {
      file.close();
    }
    whiteboard.close();
    host.close();
  }

  @Override
  public void identify(NodeCredentials credentials) {
    host.identify(credentials);
  }

  @Override
  public void identify(NodeCredentials credentials, RpcRevocations revocations) {
    host.identify(credentials, revocations);
  }

  @Override
  public Value<RpcRevocations> revocations() {
    return host.revocations();
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
  public void trust(CaBundle authorities) {
    host.trust(authorities);
  }

  @Override
  public Value<CaBundle> authorities() {
    return host.authorities();
  }

  @Override
  public void admit(RpcOperators operators) {
    host.admit(operators);
  }

  @Override
  public Optional<Crl> revoked() {
    return host.revoked();
  }

  @Override
  public ComputingThreads computing() {
    return host.computing();
  }

  @Override
  public AuditLog audit() {
    return host.audit();
  }

  @Override
  public RpcRegistration serve(String listener, BindableService service) {
    return host.serve(listener, service);
  }

  @Override
  public Value<List<RpcListenerStatus>> listeners() {
    return host.listeners();
  }

  @Override
  public RpcStatistics statistics() {
    return host.statistics();
  }
}
