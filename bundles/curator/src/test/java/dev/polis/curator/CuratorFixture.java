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
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.NodeStorageSecurity;
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
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A curator that serves over TLS on loopback, on a real etcd. Consensus and network are stand-ins
 * that only say where that etcd is and which address the node has.
 */
public final class CuratorFixture implements AutoCloseable {

  /** The cluster's half of the node's volume key. */
  static final String UNLOCK_KEY = "0123456789abcdef0123456789ABCDEF";

  static final Duration SOON = Duration.ofSeconds(15);

  /** The port that others expect a curator at. */
  private static final int PORT = 7835;

  private static final AtomicInteger FIXTURES = new AtomicInteger();

  final KeyPair nodeKey = Ed25519.generate();
  final KeyPair joinKey = Ed25519.generate();
  final KeyPair ownerKey = Ed25519.generate();
  final NodeId id = NodeId.of(nodeKey.getPublic());
  final LogTree logs = LogTree.create();
  final CuratorService curator;
  private final EtcdFixture etcd;
  private volatile List<String> endpoints;
  private final InetAddress address = ownAddress();
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
                        RpcHost.CURATOR, new InetSocketAddress(address, PORT), true)),
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
            PORT);
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

  /** Serves as another node of a cluster whose curator leads, until this one follows. */
  void follow(CuratorFixture leader) throws Exception {
    join(leader);
    Values.await(
        curator.status(),
        CuratorStatus.Following.class::isInstance,
        SOON,
        "the second curator to follow");
  }

  /** Serves as another node of another curator's cluster. */
  void join(CuratorFixture other) throws Exception {
    redirectTo(other);
    try (EtcdClient etcd = records()) {
      X509Certificate certificate =
          new CuratorPki(etcd, etcd.kv(), InstantSource.system())
              .ensureNode(id, nodeKey.getPublic());
      credentials = new NodeCredentials(nodeKey.getPrivate(), certificate, other.clusterCa());
    }
    host.identify(credentials);
    curator.serve(credentials);
  }

  /** Gives the leadership back and stops campaigning; etcd and the listener stay. */
  void resign() {
    curator.close();
    tree.close();
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
        Secret.of(UNLOCK_KEY),
        NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED,
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

  /** Each fixture has a loopback address of its own, by process and number, as a node would. */
  private static InetAddress ownAddress() {
    long process = ProcessHandle.current().pid();
    return InetAddress.ofLiteral(
        "127.%d.%d.%d"
            .formatted(
                80 + process / 250 % 40, process % 250, 1 + FIXTURES.getAndIncrement() % 250));
  }

  private Network network() {
    MutableValue<NetworkStatus> up = new MutableValue<>(new NetworkStatus.Up(address));
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

  /** Where this curator listens. */
  InetSocketAddress address() {
    return new InetSocketAddress(address, PORT);
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
