package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.curator.NodeLabels;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.SteppedLeases;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.handover.HandOverTable;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.RecoveryKey;
import dev.polis.pki.TlsIdentity;
import dev.polis.plugins.manifest.KeyId;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRegistration;
import dev.polis.rpc.RpcRevocations;
import dev.polis.rpc.RpcSettings;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.common.NodeTPMUsage;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.HeartbeatUpdateRequest;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.WatchRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Status;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.function.Executable;

/**
 * Runs a curator that serves over TLS on loopback, on a real etcd. Its consensus and network are
 * fakes, which only supply the addresses of that etcd and of the node.
 */
public final class CuratorFixture implements AutoCloseable {

  /** The cluster's half of the node's volume key. */
  static final String UNLOCK_KEY = "0123456789abcdef0123456789ABCDEF";

  private static final int PORT = 7835;
  private static final int NODE_MANAGEMENT_PORT = 7839;

  /** The short time after which a dead leader loses its lock. */
  private static final Duration LEADER_TTL =
      MachineSpeed.measure().stretched(Duration.ofSeconds(2));

  /** The longest wait: long enough for several leases to end one after the other. */
  public static final Duration SOON = LEADER_TTL.multipliedBy(8);

  private static final AtomicInteger FIXTURES = new AtomicInteger();

  final KeyPair nodeKey = Ed25519.generate();
  final KeyPair joinKey = Ed25519.generate();
  final KeyPair ownerKey = Ed25519.generate();
  final String recoveryKey = RecoveryKey.generate();
  public final NodeId id = NodeId.of(nodeKey.getPublic());
  public final LogTree logs = LogTree.create();
  private final MutableValue<NetworkStatus> reachable = new MutableValue<>();
  final CuratorService curator;
  final HandOvers.Membership<CuratorService> first;
  final CuratorService.Endpoints served = new HostEndpoints();
  final HandOverTable handOvers = HandOverTable.open(logs);

  /** The running plugins by their signing key, as the curator reads them. */
  final Map<KeyId, List<String>> signed = new ConcurrentHashMap<>();

  /** The members of etcd, as the curator sees them. */
  final FakeMembers members = new FakeMembers();

  /** The keys that the curator gives this node to trust. */
  final MutableValue<TrustRoots> trusted = new MutableValue<>();

  /** Counts the leases of this curator by a clock that can be stepped. */
  final SteppedLeases leases = new SteppedLeases();

  private final LongSupplier nanoTime;
  private final EtcdFixture etcd; // null if it has none, or that of another process
  private volatile List<String> endpoints;
  private volatile String records =
      ""; // the part of etcd's keys that is the cluster's; all if empty
  private final InetAddress address = ownAddress();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final HealthTable health = HealthTable.open(tree);
  private final LocalRpcHost host;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private HandOvers.Membership<CuratorService> present;
  private NodeCredentials credentials;
  private boolean resigned;

  private CuratorFixture(EtcdFixture etcd, LongSupplier nanoTime) {
    this.etcd = etcd;
    this.endpoints = etcd == null ? List.of() : etcd.endpoints();
    this.host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR, new InetSocketAddress(address, PORT), true),
                    new RpcSettings.Listener(
                        RpcHost.MANAGEMENT,
                        new InetSocketAddress(address, NODE_MANAGEMENT_PORT),
                        true)),
                RpcSettings.Limits.DEFAULT),
            logs);
    this.nanoTime = nanoTime;
    this.first = startNext(served);
    this.curator = first.instance();
    this.present = first;
    host.serve(RpcHost.MANAGEMENT, new NodeManagementGrpc.NodeManagementImplBase() {});
  }

  /** Starts a curator that has bootstrapped and leads. */
  public static CuratorFixture leading() throws Exception {
    return leading(System::nanoTime);
  }

  /** Starts a curator that has bootstrapped and leads, with a clock of the test's own. */
  public static CuratorFixture leading(LongSupplier nanoTime) throws Exception {
    CuratorFixture fixture = new CuratorFixture(EtcdFixture.start(1), nanoTime);
    fixture.lead();
    return fixture;
  }

  /**
   * Starts a curator that leads, with records of its own in an etcd that others use.
   *
   * @param records the name of the records
   */
  static CuratorFixture leading(List<String> etcd, String records) throws Exception {
    CuratorFixture fixture = new CuratorFixture(null, System::nanoTime);
    fixture.endpoints = etcd;
    fixture.records = records;
    fixture.lead();
    return fixture;
  }

  /**
   * Starts a curator that leads and connects to etcd through a proxy.
   *
   * @param etcd closed together with this fixture
   * @param proxy {@code host:port} to connect to in place of the etcd
   */
  public static CuratorFixture leading(EtcdFixture etcd, String proxy) throws Exception {
    CuratorFixture fixture = new CuratorFixture(etcd, System::nanoTime);
    fixture.endpoints = List.of(proxy);
    fixture.lead();
    return fixture;
  }

  /**
   * Writes the first records of a cluster and leaves the campaign to others.
   *
   * @param etcd closed together with this fixture
   */
  public static CuratorFixture bootstrapped(EtcdFixture etcd) throws Exception {
    CuratorFixture fixture = new CuratorFixture(etcd, System::nanoTime);
    fixture.bootstrap();
    return fixture;
  }

  /**
   * Campaigns as another node of a cluster that was bootstrapped.
   *
   * @param etcd {@code host:port} of the cluster's etcd
   */
  static CuratorFixture campaigning(String etcd, X509Certificate ca) throws Exception {
    CuratorFixture fixture = new CuratorFixture(null, System::nanoTime);
    fixture.endpoints = List.of(etcd);
    fixture.join(ca);
    return fixture;
  }

  private void bootstrap() throws InterruptedException {
    BootstrapOutcome outcome = curator.bootstrap(request());
    credentials = new NodeCredentials(nodeKey.getPrivate(), outcome.node(), outcome.clusterCa());
  }

  private void lead() throws Exception {
    bootstrap();
    host.identify(credentials);
    curator.serve(credentials);
    Await.value(
        curator.status(),
        CuratorStatus.Leading.class::isInstance,
        SOON,
        "the only curator to lead");
  }

  /** Joins a cluster whose curator leads, and waits until this one follows. */
  void follow(CuratorFixture leader) throws Exception {
    join(leader);
    Await.value(
        curator.status(),
        CuratorStatus.Following.class::isInstance,
        SOON,
        "the second curator to follow");
  }

  /** Enrols this node in the cluster of a leader as a member that keeps no records. */
  void followWithoutRecords(CuratorFixture leader) throws Exception {
    followWithoutRecords(leader, new RpcRevocations.None());
  }

  /**
   * Returns the refusal of a call that the owner of a cluster makes at this member, which does not
   * lead. The deadline is shorter than the wait for an election.
   */
  StatusException refusalAsOwnerOf(CuratorFixture leader) throws Exception {
    ManagedChannel owner = leader.owner(leader.address()).dial(address());
    channels.add(owner);
    return assertThrows(
        StatusException.class,
        () ->
            ManagementGrpc.newBlockingV2Stub(owner)
                .withDeadlineAfter(6, TimeUnit.SECONDS)
                .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
  }

  /** Does the same with a revocation list of this node. */
  void followWithoutRecords(CuratorFixture leader, RpcRevocations known) throws Exception {
    ManagedChannel channel =
        RpcClients.ephemeral(nodeKey, RpcTrust.cluster(leader.clusterCa())).dial(leader.address());
    channels.add(channel);
    CuratorBlockingV2Stub stranger =
        CuratorGrpc.newBlockingV2Stub(channel)
            .withDeadlineAfter(SOON.toSeconds(), TimeUnit.SECONDS);
    ManagementBlockingV2Stub owner = leader.management();
    ByteString ticket =
        owner.getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance()).getTicket();
    stranger.registerNode(
        RegisterNodeRequest.newBuilder()
            .setRegisterTicket(ticket)
            .setJoinKey(ByteString.copyFrom(Ed25519.raw(joinKey.getPublic())))
            .build());
    owner.approveNode(
        ApproveNodeRequest.newBuilder()
            .setPubkey(ByteString.copyFrom(Ed25519.raw(nodeKey.getPublic())))
            .build());
    CommitNodeResponse committed =
        stranger.commitNode(
            CommitNodeRequest.newBuilder()
                .setClusterUnlockKey(ByteString.copyFromUtf8(UNLOCK_KEY))
                .setStorageSecurity(NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED)
                .build());
    credentials =
        new NodeCredentials(
            nodeKey.getPrivate(),
            Pem.certificate(committed.getNodeCertificate().toByteArray()),
            Pem.certificate(committed.getCaCertificate().toByteArray()));
    host.identify(credentials, known);
    curator.follow(credentials, Set.of(leader.endpoint()));
  }

  /** Returns the present instance of the curator, after swaps. */
  CuratorService present() {
    return present.instance();
  }

  /** Returns the host of this node's listeners. */
  RpcHost host() {
    return host;
  }

  /** Serves as another node of the cluster of another curator. */
  void join(CuratorFixture other) throws Exception {
    redirectTo(other);
    join(other.clusterCa());
  }

  private void join(X509Certificate ca) throws Exception {
    try (EtcdClient records = records()) {
      X509Certificate certificate =
          new CuratorPki(records, records.kv(), InstantSource.system())
              .ensureNode(id, nodeKey.getPublic());
      credentials = new NodeCredentials(nodeKey.getPrivate(), certificate, ca);
    }
    host.identify(credentials);
    curator.serve(credentials);
  }

  /** Replaces the curator by another one that continues its term, as a swap of its bundle does. */
  void swap() {
    CuratorService.Endpoints next = endpoints();
    HandOvers.Membership<CuratorService> started = startNext(next);
    retire(present);
    present = started;
  }

  /** Gives the leadership back and stops campaigning; etcd and the listener stay. */
  void resign() {
    if (!resigned) {
      resigned = true;
      present.instance().close(StopReason.PROCESS_RESTART);
      health.close();
      tree.close();
    }
  }

  /** Starts a curator that waits for credentials; it has no etcd until it follows another one. */
  static CuratorFixture idle() {
    return new CuratorFixture(null, System::nanoTime);
  }

  /** Starts a curator with an etcd of its own that waits for bootstrap. */
  static CuratorFixture founding() throws Exception {
    return new CuratorFixture(EtcdFixture.start(1), System::nanoTime);
  }

  /** Returns the id of this curator's node. */
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
        ByteString.copyFrom(RecoveryKey.publicKey(recoveryKey)),
        ClusterConfiguration.newBuilder()
            .setClusterDomain("cluster.internal")
            .setTpmMode(TPMMode.TPM_MODE_DISABLED)
            .setStorageSecurityPolicy(StorageSecurityPolicy.STORAGE_SECURITY_POLICY_PERMISSIVE)
            .build(),
        NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT,
        NodeLabels.of(Map.of("test1", "a", "test2", "b", "test3", "c")));
  }

  /** Connects to the curator's etcd keys directly. */
  public EtcdClient records() {
    return EtcdClient.connect(access("curator"));
  }

  NodeCredentials credentials() {
    return credentials;
  }

  /** Makes this curator use the etcd of another one. */
  void redirectTo(CuratorFixture other) {
    endpoints = other.etcd == null ? other.endpoints : other.etcd.endpoints();
    records = other.records;
  }

  EtcdFixture etcd() {
    return etcd;
  }

  /** Returns the access to etcd of one user. */
  EtcdAccess access(String user) {
    EtcdAccess etcd = EtcdAccess.plaintext(endpoints.toArray(String[]::new));
    return (records.isEmpty() ? etcd : etcd.sub(records)).sub(user);
  }

  private Consensus consensus() {
    return (Consensus)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Consensus.class},
            (self, method, arguments) -> {
              if (method.getName().equals("access")) {
                return access((String) arguments[0]);
              }
              if (method.getName().equals("status")) {
                return new MutableValue<>(
                    new ConsensusStatus.Running("test", "1", "2", endpoints, List.of()));
              }
              return members.answer(method.getName(), arguments);
            });
  }

  /** Stands in for the members of etcd, which this fixture's etcd does not change. */
  static final class FakeMembers {
    volatile List<ConsensusVoter> voters = List.of();
    volatile List<ConsensusMember> members = List.of();
    volatile ConsensusStanding standing = new ConsensusStanding.Learner();
    final List<String> expelled = new CopyOnWriteArrayList<>();
    volatile ConsensusCa ca;

    private Object answer(String method, Object[] arguments) {
      return switch (method) {
        case "voters" -> voters;
        case "overview" -> overview();
        case "admit" -> standing;
        case "ca", "rotateCa", "retireCa" -> ca = next(method);
        case "expel" -> {
          expelled.add((String) arguments[0]);
          yield null;
        }
        default -> throw new AssertionError("the fake consensus does not support " + method);
      };
    }

    /** Makes a step as consensus does, whose members reach each step at once. */
    private ConsensusCa next(String method) {
      boolean rotate = method.equals("rotateCa");
      boolean retire = method.equals("retireCa");
      if (rotate && ca.step() == ConsensusCa.Step.ONE) {
        X509Certificate next = CertificateAuthority.create("the next CA").certificate();
        return new ConsensusCa(
            ConsensusCa.Step.PREPARED, new CaBundle(List.of(ca.issuing(), next)), List.of());
      }
      if (rotate && ca.step() == ConsensusCa.Step.PREPARED) {
        X509Certificate next = ca.other().orElseThrow();
        return new ConsensusCa(
            ConsensusCa.Step.ISSUING, new CaBundle(List.of(next, ca.issuing())), List.of());
      }
      return retire && ca.step() == ConsensusCa.Step.ISSUING
          ? new ConsensusCa(ConsensusCa.Step.ONE, CaBundle.of(ca.issuing()), List.of())
          : ca;
    }

    private ConsensusOverview overview() {
      return new ConsensusOverview(
          members,
          "1",
          "test",
          0,
          0,
          0,
          0,
          0,
          0,
          List.of(),
          List.of(),
          new ConsensusOverview.OperatorFiles("", "", ""));
    }
  }

  /** Returns a loopback address for this fixture alone, by process and number. */
  private static InetAddress ownAddress() {
    long process = ProcessHandle.current().pid();
    return InetAddress.ofLiteral(
        "127.%d.%d.%d"
            .formatted(
                80 + process / 250 % 40, process % 250, 1 + FIXTURES.getAndIncrement() % 250));
  }

  /** Gives the node another address, at which nothing listens. */
  void move(InetAddress to) {
    reachable.set(new NetworkStatus.Up(to));
  }

  private Network network() {
    reachable.update(now -> now.orElseGet(() -> new NetworkStatus.Up(address)));
    return (Network)
        Proxy.newProxyInstance(
            CuratorFixture.class.getClassLoader(),
            new Class<?>[] {Network.class},
            (self, method, arguments) -> {
              if (method.getName().equals("status")) {
                return reachable;
              }
              throw new AssertionError("the fake network does not support " + method);
            });
  }

  /** Serves the endpoints of one curator at the fixture's host. */
  private final class HostEndpoints implements CuratorService.Endpoints {
    private final List<RpcRegistration> registrations = new ArrayList<>();

    @Override
    public synchronized void register(List<BindableService> services) {
      services.forEach(service -> registrations.add(host.serve(RpcHost.CURATOR, service)));
    }

    @Override
    public synchronized void withdraw() {
      registrations.forEach(RpcRegistration::close);
      registrations.clear();
    }

    @Override
    public void close() {
      withdraw();
    }
  }

  /** Keeps the trusted keys that the curator names. */
  private final class Trusted implements CuratorService.Trust {
    @Override
    public void accept(TrustRoots roots) {
      trusted.set(roots);
    }

    @Override
    public void close() {}
  }

  /** Returns endpoints at the fixture's host, for one curator. */
  CuratorService.Endpoints endpoints() {
    return new HostEndpoints();
  }

  /** Starts another curator on the same node, which continues from the one that leads. */
  HandOvers.Membership<CuratorService> startNext(CuratorService.Endpoints served) {
    return handOvers.join("curator", predecessor -> start(served, predecessor));
  }

  CuratorService start(CuratorService.Endpoints served, HandOvers.Predecessor predecessor) {
    return CuratorService.start(
        new CuratorSettings(LEADER_TTL, PORT),
        new CuratorService.Parts(
            consensus(),
            leases::connection,
            network(),
            host,
            tree,
            health,
            served,
            nanoTime,
            key -> signed.getOrDefault(key, List.of()),
            new Trusted()),
        predecessor);
  }

  /** Ends a curator as the framework does when its bundle is stopped. */
  static void retire(HandOvers.Membership<CuratorService> membership) {
    membership.leave();
  }

  /** Returns the address of the curator listener. */
  NodeEndpoint endpoint() {
    return new NodeEndpoint(id, address());
  }

  InetSocketAddress address() {
    return new InetSocketAddress(address, PORT);
  }

  /** Returns the certificate of the cluster's CA. */
  public X509Certificate clusterCa() {
    return credentials.ca().issuing();
  }

  /** Opens a channel to the curator, with a certificate that the cluster's CA has issued. */
  ManagedChannel as(TlsIdentity identity) {
    return dial(RpcClients.authenticated(identity, RpcTrust.cluster(clusterCa())));
  }

  /** Opens a channel to the node's management listener. */
  ManagedChannel nodeManagementAs(TlsIdentity identity) {
    ManagedChannel channel =
        RpcClients.authenticated(identity, RpcTrust.cluster(clusterCa()))
            .dial(new InetSocketAddress(address, NODE_MANAGEMENT_PORT));
    channels.add(channel);
    return channel;
  }

  public ManagedChannel asNode() {
    return dial(RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(clusterCa())));
  }

  /** Opens a channel as a machine that becomes a node. */
  public ManagedChannel asKey(KeyPair key) {
    return dial(RpcClients.ephemeral(key, RpcTrust.cluster(clusterCa())));
  }

  ManagedChannel asNobody() {
    return dial(RpcClients.anonymous(RpcTrust.cluster(clusterCa())));
  }

  /** Opens a channel with the owner's certificate; closed together with this. */
  public ManagedChannel asOwner() throws Exception {
    return asOwner(ownerKey);
  }

  /** Opens a channel with the certificate of the owner of the cluster that this node is in. */
  ManagedChannel asOwner(KeyPair key) throws Exception {
    return as(TlsIdentity.of(key.getPrivate(), escrow(asKey(key), "owner", key)));
  }

  /**
   * Returns clients with the certificate of the cluster's owner.
   *
   * @param leader the curator to get it from
   */
  public RpcClients owner(InetSocketAddress leader) throws Exception {
    RpcTrust trust = RpcTrust.cluster(clusterCa());
    ManagedChannel channel = RpcClients.ephemeral(ownerKey, trust).dial(leader);
    try {
      X509Certificate certificate = escrow(channel, "owner", ownerKey);
      return RpcClients.authenticated(TlsIdentity.of(ownerKey.getPrivate(), certificate), trust);
    } finally {
      channel.shutdownNow();
    }
  }

  /** Stores the record of a node that does not run, and returns its id. */
  public String storeNode() throws InterruptedException {
    String node = NodeId.of(Ed25519.generate().getPublic()).text();
    try (EtcdClient records = records()) {
      store(records, node, Node.newBuilder().setFsmState(NodeState.NODE_STATE_UP));
    }
    return node;
  }

  /** Returns a client of the Management API, with the owner's certificate. */
  public ManagementBlockingV2Stub management() throws Exception {
    return ManagementGrpc.newBlockingV2Stub(asOwner());
  }

  /** Stores the record of a node without the help of the curator. */
  public static void store(EtcdClient etcd, String id, Node.Builder record)
      throws InterruptedException {
    etcd.kv().put(RecordKeys.node(id), record.build().toByteArray());
  }

  /** Stores the record of a node without the help of the curator, and waits until it knows it. */
  public void store(String id, Node.Builder record) throws Exception {
    put(RecordKeys.node(id), record.build().toByteArray());
  }

  /** Stores the records of nodes without the help of the curator, and waits until it knows all. */
  void storeAll(Map<String, Node.Builder> nodes) throws Exception {
    Map<String, byte[]> values = new LinkedHashMap<>();
    nodes.forEach((id, record) -> values.put(RecordKeys.node(id), record.build().toByteArray()));
    putAll(values);
  }

  /** Stores a record without the help of the curator, and waits until it knows it. */
  public void put(String key, byte[] value) throws Exception {
    putAll(Map.of(key, value));
  }

  private void putAll(Map<String, byte[]> values) throws Exception {
    try (EtcdClient etcd = records()) {
      Map<String, Long> revisions = new LinkedHashMap<>();
      for (Map.Entry<String, byte[]> each : values.entrySet()) {
        revisions.put(each.getKey(), etcd.kv().put(each.getKey(), each.getValue()));
      }
      for (Map.Entry<String, Long> each : revisions.entrySet()) {
        Await.until(
            SOON,
            "the curator to know " + each.getKey() + " of revision " + each.getValue(),
            () ->
                curator
                    .known()
                    .filter(now -> now.state(each.getKey()).revision() >= each.getValue())
                    .isPresent());
      }
    }
  }

  /** Lists the nodes that a filter selects. */
  public static List<dev.polis.wire.api.Node> nodes(
      ManagementBlockingV2Stub management, String filter) throws Exception {
    BlockingClientCall<?, dev.polis.wire.api.Node> call =
        management
            .withDeadlineAfter(SOON.toSeconds(), TimeUnit.SECONDS)
            .getNodes(GetNodesRequest.newBuilder().setFilter(filter).build());
    List<dev.polis.wire.api.Node> nodes = new ArrayList<>();
    for (dev.polis.wire.api.Node each = call.read(); each != null; each = call.read()) {
      nodes.add(each);
    }
    return nodes;
  }

  /** Expects a call to be refused with a status code, and returns the message. */
  public static String refused(Status.Code code, Executable call) {
    Status status = assertThrows(StatusException.class, call).getStatus();
    assertEquals(code, status.getCode(), status.toString());
    return status.getDescription();
  }

  /** Sends one heartbeat and waits for its answer. */
  static void heartbeat(CuratorBlockingV2Stub node) throws Exception {
    BlockingClientCall<HeartbeatUpdateRequest, ?> call =
        node.withDeadlineAfter(SOON.toSeconds(), TimeUnit.SECONDS).heartbeat();
    call.write(HeartbeatUpdateRequest.getDefaultInstance());
    call.read();
    call.halfClose();
  }

  /** Reports the status of this fixture's node. */
  public void reportStatus(CuratorBlockingV2Stub node, String address) throws Exception {
    node.withDeadlineAfter(SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeStatus(
            UpdateNodeStatusRequest.newBuilder()
                .setNodeId(id.text())
                .setStatus(
                    NodeStatus.newBuilder()
                        .setExternalAddress(address)
                        .setRunningCurator(NodeStatus.RunningCurator.newBuilder().setPort(PORT)))
                .build());
  }

  /** Requests a user certificate. */
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
    resign();
    host.close();
    if (etcd != null) {
      etcd.close();
    }
  }

  /** Opens a watch of all nodes, as each member does. */
  static BlockingClientCall<?, WatchEvent> watchNodes(ManagedChannel channel) {
    return CuratorGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(SOON.toSeconds(), TimeUnit.SECONDS)
        .watch(
            WatchRequest.newBuilder()
                .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                .build());
  }

  /** Reads a watch to its end, and skips the events from before it. */
  static void drain(BlockingClientCall<?, WatchEvent> stream) throws Exception {
    WatchEvent event;
    do {
      event = stream.read();
    } while (event != null);
  }

  /** Returns the code with which a call ends. */
  static Status.Code codeOf(Callable<?> call) throws Exception {
    try {
      call.call();
      return Status.Code.OK;
    } catch (StatusException refused) {
      return refused.getStatus().getCode();
    }
  }
}
