package dev.polis.metrics;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.SilentBoot;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRegistration;
import dev.polis.rpc.RpcSettings;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.NodeManagementGrpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Version;

/** Runs the metrics organ in a node of its own, and reads its pages. */
final class MetricsFixture implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Pattern AT = Pattern.compile("metrics at https://([0-9.]+):(\\d+)/metrics");

  final CertificateAuthority ca = CertificateAuthority.create("Test cluster");
  final LogTree logs = LogTree.create();
  final SupervisionTree tree = SupervisionTree.open(logs);
  final MutableValue<DataStatus> data =
      new MutableValue<>(new DataStatus.Mounted(StorageSecurity.ENCRYPTED, "a test"));
  final MutableValue<ClockStatus> clock =
      new MutableValue<>(
          new ClockStatus.Synchronised("192.0.2.1", Duration.ofMillis(-250), Instant.EPOCH));
  final MutableValue<NetworkStatus> network =
      new MutableValue<>(new NetworkStatus.Up(InetAddress.ofLiteral("127.0.0.1")));
  final LocalRpcHost host =
      new LocalRpcHost(
          new RpcSettings(
              List.of(
                  new RpcSettings.Listener(
                      RpcHost.DEBUG,
                      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                      false),
                  new RpcSettings.Listener(
                      RpcHost.CURATOR,
                      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                      true)),
              RpcSettings.Limits.DEFAULT),
          logs);
  final ProcessManager.OpenManager processes;

  /** The next instance's settings of the node exporter. */
  String nodeExporter = "/nonexistent/node_exporter";

  StopReason stopReason = StopReason.CODE_REPLACED;
  private final KeyPair nodeKey = Ed25519.generate();
  private final MutableValue<ClusterStatus> cluster = new MutableValue<>();
  private volatile Optional<NodeCredentials> credentials = Optional.empty();
  private MetricsComponent organ; // null unless started
  private HealthTable health; // null until it was started

  MetricsFixture(Path folder) {
    processes = ProcessManager.open(folder.resolve("processes"), logs);
  }

  void start() throws Exception {
    renew();
    int before = announcements().size();
    activate(0);
    awaitAnnouncements(before + 1);
  }

  void startAt(int port) {
    renew();
    activate(port);
  }

  void startWithoutCredentials() {
    cluster.set(status());
    activate(0);
  }

  private void activate(int port) {
    health = HealthTable.open(tree);
    organ =
        new MetricsComponent(
            fake(BundleContext.class, method -> new Bundle[] {bundle()}),
            config(port),
            new SilentBoot(stopReason),
            logs,
            tree,
            health,
            host,
            processes,
            fake(Storage.class, method -> data),
            fake(Network.class, method -> method.equals("clock") ? clock : network),
            fake(ClusterManager.class, method -> cluster));
  }

  /** Holds the organ as the framework does. */
  MetricsComponent organ() {
    return organ;
  }

  /** Starts the next instance at the same port, runs a step, and ends the previous instance. */
  void replace(Runnable step) throws Exception {
    MetricsComponent before = organ;
    int announced = announcements().size();
    activate(address().getPort());
    awaitAnnouncements(announced + 1);
    step.run();
    before.deactivate();
  }

  void stop() {
    if (organ != null) {
      organ.deactivate();
      organ = null;
    }
  }

  @Override
  public void close() {
    stop();
    host.close();
    tree.close();
    try {
      processes.stop(NodeExporter.PROCESS);
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted while stopping the exporter", e);
    }
    processes.close();
  }

  /** Gives the node another certificate for its key. */
  void renew() {
    NodeCredentials newer =
        new NodeCredentials(
            nodeKey.getPrivate(), ca.issueNode(nodeKey.getPublic()), ca.certificate());
    credentials = Optional.of(newer);
    host.identify(newer);
    cluster.set(status());
  }

  NodeCredentials credentials() {
    return credentials.orElseThrow();
  }

  private ClusterStatus status() {
    return fake(ClusterStatus.class, method -> credentials);
  }

  private static Bundle bundle() {
    return fake(
        Bundle.class,
        method ->
            switch (method) {
              case "getBundleId" -> 7L;
              case "getSymbolicName" -> "dev.polis.sample";
              case "getVersion" -> new Version(1, 2, 3);
              case "getState" -> Bundle.ACTIVE;
              default -> throw new AssertionError("not to be asked: " + method);
            });
  }

  private MetricsConfig config(int port) {
    return new MetricsConfig() {
      @Override
      public int port() {
        return port;
      }

      @Override
      public String node_exporter() {
        return nodeExporter;
      }

      @Override
      public int node_exporter_port() {
        return 7841;
      }

      @Override
      public Class<? extends Annotation> annotationType() {
        return MetricsConfig.class;
      }
    };
  }

  private interface Answer {
    Object to(String method);
  }

  private static <T> T fake(Class<T> contract, Answer answer) {
    return contract.cast(
        Proxy.newProxyInstance(
            MetricsFixture.class.getClassLoader(),
            new Class<?>[] {contract},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "equals" -> self == arguments[0];
                  case "hashCode" -> System.identityHashCode(self);
                  case "toString" -> contract.getSimpleName();
                  default -> answer.to(method.getName());
                }));
  }

  // ---- reports and logs

  /** Returns the addresses at which it reported to listen, oldest first. */
  List<InetSocketAddress> announcements() {
    try (LogReader reader = logs.read(LogQuery.of("root.metrics.server").backlogAll())) {
      return reader.backlog().stream()
          .map(entry -> AT.matcher(((LogPayload.Leveled) entry.payload()).message()))
          .filter(Matcher::find)
          .map(at -> new InetSocketAddress(at.group(1), Integer.parseInt(at.group(2))))
          .toList();
    }
  }

  void awaitAnnouncements(int count) throws Exception {
    Await.until(
        PATIENCE,
        "the server to listen, " + count + ". time",
        () -> announcements().size() >= count);
  }

  InetSocketAddress address() {
    return announcements().getLast();
  }

  /** Returns the organ's current health. */
  List<HealthCondition> health() {
    return health.all().peek().orElseThrow().stream()
        .flatMap(status -> status.conditions().stream())
        .toList();
  }

  /** Returns the log lines of a runnable, oldest first. */
  List<String> logged(String dn) {
    try (LogReader reader = logs.read(LogQuery.of(dn).backlogAll())) {
      return reader.backlog().stream()
          .map(LogEntry::payload)
          .filter(LogPayload.Leveled.class::isInstance)
          .map(line -> ((LogPayload.Leveled) line).message())
          .toList();
    }
  }

  Optional<RunnableStatus> runnable(String dn) {
    return tree.runnables().peek().orElseThrow().stream()
        .filter(status -> status.dn().equals(dn))
        .findFirst();
  }

  /** Calls a method that no client may call on the plain listener. */
  void refusedCall() throws InterruptedException {
    try (RpcRegistration _ =
        host.serve(RpcHost.DEBUG, new NodeManagementGrpc.NodeManagementImplBase() {})) {
      ManagedChannel channel = RpcClients.plaintext(host.address(RpcHost.DEBUG));
      try {
        NodeManagementGrpc.newBlockingStub(channel).logs(LogsRequest.getDefaultInstance()).next();
        throw new AssertionError("a stranger was let in");
      } catch (StatusRuntimeException refused) {
        channel.shutdownNow().awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    }
  }

  // ---- readers

  TlsIdentity user() {
    return user(ca);
  }

  static TlsIdentity user(CertificateAuthority ca) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueUser("prometheus", pair.getPublic()));
  }

  TlsIdentity otherNode() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueNode(pair.getPublic()));
  }

  HttpClient client(TlsIdentity identity) {
    return client(TlsContexts.context(TlsKeys.fixed(identity), thisCluster()));
  }

  private TlsTrust thisCluster() {
    return TlsTrust.anyNode(TlsTrust.Source.of(ca.certificate()));
  }

  private static HttpClient client(SSLContext tls) {
    return HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .sslContext(tls)
        .connectTimeout(PATIENCE)
        .build();
  }

  HttpRequest.Builder request(String path) {
    return request(address(), path);
  }

  private static HttpRequest.Builder request(InetSocketAddress at, String path) {
    return HttpRequest.newBuilder(
            URI.create(
                "https://%s:%d%s".formatted(at.getAddress().getHostAddress(), at.getPort(), path)))
        .timeout(PATIENCE);
  }

  HttpResponse<String> get(HttpClient client, String path)
      throws IOException, InterruptedException {
    return client.send(request(path).build(), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> get(TlsIdentity identity, String path)
      throws IOException, InterruptedException {
    return getAt(address(), identity, path);
  }

  HttpResponse<String> getAt(InetSocketAddress at, TlsIdentity identity, String path)
      throws IOException, InterruptedException {
    try (HttpClient client = client(identity)) {
      return client.send(request(at, path).build(), HttpResponse.BodyHandlers.ofString());
    }
  }

  HttpResponse<String> getAnonymously(String path) throws IOException, InterruptedException {
    try (HttpClient client = client(TlsContexts.anonymous(thisCluster()))) {
      return get(client, path);
    }
  }

  /** Returns the serial number of the certificate that the node presents on a new connection. */
  BigInteger presented() throws IOException, InterruptedException {
    HttpResponse<String> response = get(user(), "/metrics");
    try {
      X509Certificate certificate =
          (X509Certificate) response.sslSession().orElseThrow().getPeerCertificates()[0];
      return certificate.getSerialNumber();
    } catch (javax.net.ssl.SSLPeerUnverifiedException e) {
      throw new AssertionError("the node presented nothing", e);
    }
  }
}
