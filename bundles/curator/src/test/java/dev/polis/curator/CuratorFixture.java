package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.curator.NodeLabels;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.event.MutableValue;
import dev.polis.event.Values;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcListenerStatus;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.NodeTPMUsage;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A curator that serves over TLS on loopback, on a real etcd. Consensus and network are stand-ins
 * that only say where that etcd is and which address the node has.
 */
public final class CuratorFixture implements AutoCloseable {

  static final Duration SOON = Duration.ofSeconds(15);

  final KeyPair nodeKey = Ed25519.generate();
  final KeyPair joinKey = Ed25519.generate();
  final KeyPair ownerKey = Ed25519.generate();
  final NodeId id = NodeId.of(nodeKey.getPublic());
  final LogTree logs = LogTree.create();
  final CuratorService curator;
  private final EtcdFixture etcd;
  private volatile List<String> endpoints;
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final LocalRpcHost host;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private NodeCredentials credentials;

  private CuratorFixture(EtcdFixture etcd) {
    this.etcd = etcd;
    this.endpoints = etcd.endpoints();
    this.host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    this.curator =
        new CuratorService(
            consensus(),
            network(),
            host,
            tree.organ("curator"),
            this::serve,
            Duration.ofSeconds(2),
            7835);
  }

  /** A curator that has bootstrapped and leads. */
  static CuratorFixture leading() throws Exception {
    CuratorFixture fixture = idle();
    fixture.lead();
    return fixture;
  }

  /**
   * A curator that leads, and reaches its etcd on a way of the test's choice.
   *
   * @param etcd closed together with this
   * @param way {@code host:port} to use in place of the etcd's own
   */
  public static CuratorFixture leading(EtcdFixture etcd, String way) throws Exception {
    CuratorFixture fixture = new CuratorFixture(etcd);
    fixture.endpoints = List.of(way);
    fixture.lead();
    return fixture;
  }

  private void lead() throws Exception {
    BootstrapOutcome outcome = curator.bootstrap(request());
    credentials = new NodeCredentials(nodeKey.getPrivate(), outcome.node(), outcome.clusterCa());
    host.identify(credentials);
    curator.serve(credentials);
    Values.await(
        curator.status(),
        CuratorStatus.Leading.class::isInstance,
        SOON,
        "the only curator to lead");
  }

  static CuratorFixture idle() throws Exception {
    return new CuratorFixture(EtcdFixture.start(1));
  }

  /** The only node of this curator's cluster. */
  public NodeId id() {
    return id;
  }

  BootstrapRequest request() {
    return request(ownerKey);
  }

  BootstrapRequest request(KeyPair owner) {
    return new BootstrapRequest(
        id,
        nodeKey.getPublic(),
        joinKey.getPublic(),
        Secret.of(new byte[32]),
        owner.getPublic(),
        ClusterConfiguration.newBuilder()
            .setClusterDomain("cluster.internal")
            .setTpmMode(TPMMode.TPM_MODE_DISABLED)
            .setStorageSecurityPolicy(StorageSecurityPolicy.STORAGE_SECURITY_POLICY_PERMISSIVE)
            .build(),
        NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT,
        NodeLabels.of(Map.of("test1", "a", "test2", "b", "test3", "c")));
  }

  /** A client of the curator's own keys, past all of its rules. */
  EtcdClient records() {
    return EtcdClient.connect(access());
  }

  NodeCredentials credentials() {
    return credentials;
  }

  /** Lets this curator use the etcd of another one. */
  void redirectTo(CuratorFixture other) {
    endpoints = other.etcd.endpoints();
  }

  EtcdFixture etcd() {
    return etcd;
  }

  private EtcdAccess access() {
    return EtcdAccess.plaintext(endpoints.toArray(String[]::new)).sub("curator");
  }

  private Consensus consensus() {
    return (Consensus)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Consensus.class},
            (self, method, arguments) -> {
              if (method.getName().equals("access")) {
                return access();
              }
              if (method.getName().equals("status")) {
                return new MutableValue<>(
                    new ConsensusStatus.Running("test", "1", "2", endpoints, List.of()));
              }
              throw new AssertionError("this test's consensus cannot " + method);
            });
  }

  private static Network network() {
    MutableValue<NetworkStatus> up =
        new MutableValue<>(new NetworkStatus.Up(InetAddress.getLoopbackAddress()));
    return (Network)
        Proxy.newProxyInstance(
            CuratorFixture.class.getClassLoader(),
            new Class<?>[] {Network.class},
            (self, method, arguments) -> {
              if (method.getName().equals("status")) {
                return up;
              }
              throw new AssertionError("this test's network cannot " + method);
            });
  }

  private void serve(List<BindableService> services) {
    services.forEach(service -> host.serve(RpcHost.CURATOR, service));
  }

  private InetSocketAddress address() {
    String text =
        host.listeners().peek().orElseThrow().stream()
            .filter(RpcListenerStatus::open)
            .findFirst()
            .orElseThrow()
            .address();
    int colon = text.lastIndexOf(':');
    return new InetSocketAddress(
        text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
  }

  X509Certificate clusterCa() {
    return credentials.ca();
  }

  ManagedChannel asNode() {
    return dial(RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(clusterCa())));
  }

  ManagedChannel asKey(KeyPair key) {
    return dial(RpcClients.ephemeral(key, RpcTrust.cluster(clusterCa())));
  }

  ManagedChannel asNobody() {
    return dial(RpcClients.anonymous(RpcTrust.cluster(clusterCa())));
  }

  /** A channel with the owner's certificate; closed together with this. */
  public ManagedChannel asOwner() throws Exception {
    X509Certificate certificate = escrow(asKey(ownerKey), "owner", ownerKey);
    return dial(
        RpcClients.authenticated(
            TlsIdentity.of(ownerKey.getPrivate(), certificate), RpcTrust.cluster(clusterCa())));
  }

  /** Asks for a user certificate. */
  static X509Certificate escrow(ManagedChannel channel, String name, KeyPair key)
      throws StatusException, InterruptedException {
    BlockingClientCall<EscrowRequest, EscrowResponse> call =
        AAAGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(SOON.toSeconds(), TimeUnit.SECONDS)
            .escrow();
    call.write(
        EscrowRequest.newBuilder()
            .setParameters(
                EscrowRequest.Parameters.newBuilder()
                    .setRequestedIdentityName(name)
                    .setPublicKey(ByteString.copyFrom(Ed25519.raw(key.getPublic()))))
            .build());
    EscrowResponse answer = call.read();
    while (answer != null && answer.getEmittedCertificate().isEmpty()) {
      answer = call.read();
    }
    return Pem.certificate(answer.getEmittedCertificate().toByteArray());
  }

  private ManagedChannel dial(RpcClients clients) {
    ManagedChannel channel = clients.dial(address());
    channels.add(channel);
    return channel;
  }

  @Override
  public void close() throws IOException {
    channels.forEach(ManagedChannel::shutdownNow);
    curator.close();
    tree.close();
    host.close();
    etcd.close();
  }
}
