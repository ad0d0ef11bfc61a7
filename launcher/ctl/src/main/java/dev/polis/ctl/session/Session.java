package dev.polis.ctl.session;

import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.IdentityException;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.PkiException;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.LeaderHint;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcMethods;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.audit.AuditGrpc;
import dev.polis.wire.audit.KubernetesAuditGrpc;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.ClusterCaGrpc;
import dev.polis.wire.cluster.EtcdGrpc;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.PluginSetGrpc;
import dev.polis.wire.cluster.PluginTrustGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.HealthGrpc;
import dev.polis.wire.images.NodeImagesGrpc;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.recovery.RecoveryGrpc;
import dev.polis.wire.runtime.RuntimeGrpc;
import dev.polis.wire.system.NodeSystemGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Opens and closes the channels of one command. */
public final class Session implements AutoCloseable {

  public static final int CURATOR_PORT = 7835;
  public static final int DEBUG_PORT = 7837;
  public static final int MANAGEMENT_PORT = 7839;

  /** A call. */
  @FunctionalInterface
  public interface Call<T> {
    T run() throws StatusException, InterruptedException;
  }

  /**
   * A listener, and how it is talked to.
   *
   * @param ownerOrNull what this side presents; null for plaintext
   * @param nodeOrNull the only node that is accepted; null if the node that answered first is
   */
  private record Peer(UserCredentials ownerOrNull, InetSocketAddress address, NodeId nodeOrNull) {}

  /** A restart closes the listeners for one second and a half at most; a person waits for this. */
  private static final Duration RESTART = Duration.ofSeconds(2);

  /** A node on this machine says that it starts over; on a busy machine that takes longer. */
  private static final Duration OWN_RESTART = Duration.ofSeconds(60);

  private static final Duration AGAIN = Duration.ofMillis(100);

  private final CtlTarget target;
  private final int timeout;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private final Map<Peer, Channel> peers = new HashMap<>();
  private final Map<UserCredentials, Channel> curators = new HashMap<>();
  private final LeaderRoute route = new LeaderRoute();
  private final ChangeIds changes = new ChangeIds();

  /** The address to which the latest call was sent; null before the first. */
  private volatile InetSocketAddress asked;

  /** Notes that the latest call changes nothing. */
  private volatile boolean readsOnly;

  /** Notes that the latest call left this machine. */
  private volatile boolean sent;

  /** Notes that the list of revoked certificates has changed. */
  private boolean revoked;

  /** Notes that the caller needs no more answers. */
  private volatile boolean closed;

  /** The command that makes a new certificate, for a refusal that it would help against. */
  private final String takeOwnership;

  private Session(CtlTarget target, int timeout, String takeOwnership) {
    this.target = target;
    this.timeout = timeout;
    this.takeOwnership = takeOwnership;
  }

  public static Session open(CtlOptions options) {
    CtlOptions.requireAtLeast(1, options.timeout, "--timeout");
    return new Session(options.target(), options.timeout, options.command("takeownership"));
  }

  /**
   * Opens another session with the same node, whose calls wait for an answer so long.
   *
   * @param seconds for one answer
   */
  public Session beside(int seconds) {
    return new Session(target, Math.min(seconds, timeout), takeOwnership);
  }

  /**
   * Opens another session, with the node that leads the cluster of this one; none if it is this.
   */
  public Optional<Session> withLeader() throws InterruptedException {
    return CuratorLeader.knownAt(address(CURATOR_PORT))
        .filter(leader -> !leader.equals(host()))
        .map(leader -> new Session(target.at(leader), timeout, takeOwnership));
  }

  public CtlTarget target() {
    return target;
  }

  public ManagementGrpc.ManagementBlockingV2Stub management() {
    return limited(ManagementGrpc.newBlockingV2Stub(curator()));
  }

  public EtcdGrpc.EtcdBlockingV2Stub etcd() {
    return limited(EtcdGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT)));
  }

  /** Returns a stub without a deadline: an order about a database takes as long as its disks. */
  public EtcdGrpc.EtcdBlockingV2Stub etcdOrders() {
    return EtcdGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT));
  }

  public PluginTrustGrpc.PluginTrustBlockingV2Stub pluginTrust() {
    return limited(PluginTrustGrpc.newBlockingV2Stub(curator()));
  }

  public CertificatesGrpc.CertificatesBlockingV2Stub certificates() {
    return limited(CertificatesGrpc.newBlockingV2Stub(curator()));
  }

  public ClusterCaGrpc.ClusterCaBlockingV2Stub clusterCa() {
    return limited(ClusterCaGrpc.newBlockingV2Stub(curator()));
  }

  public OperatorsGrpc.OperatorsBlockingV2Stub operators() {
    return limited(OperatorsGrpc.newBlockingV2Stub(curator()));
  }

  public OwnerKeysGrpc.OwnerKeysBlockingV2Stub ownerKeys() {
    return limited(OwnerKeysGrpc.newBlockingV2Stub(curator()));
  }

  public PluginSetGrpc.PluginSetBlockingV2Stub pluginSet() {
    return limited(PluginSetGrpc.newBlockingV2Stub(curator()));
  }

  public RegisterTicketsGrpc.RegisterTicketsBlockingV2Stub registerTickets() {
    return limited(RegisterTicketsGrpc.newBlockingV2Stub(curator()));
  }

  public PluginsGrpc.PluginsBlockingV2Stub plugins(Place place) {
    return limited(PluginsGrpc.newBlockingV2Stub(asOwner(place, MANAGEMENT_PORT)));
  }

  public PluginsGrpc.PluginsBlockingV2Stub bundles() {
    return limited(PluginsGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT)));
  }

  /** Returns a stub without a deadline: a swap takes as long as the node is given to prove it. */
  public PluginsGrpc.PluginsBlockingV2Stub swaps() {
    return PluginsGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT));
  }

  public RecoveryGrpc.RecoveryBlockingV2Stub recovery() {
    return limited(RecoveryGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT)));
  }

  /** Returns a stub without a deadline: a log that is followed has no end. */
  public NodeManagementGrpc.NodeManagementBlockingV2Stub node(Place place) {
    return NodeManagementGrpc.newBlockingV2Stub(asOwner(place, MANAGEMENT_PORT));
  }

  /** Returns a stub without a deadline: a system takes as long as its disk needs. */
  public NodeSystemGrpc.NodeSystemBlockingV2Stub system(Place place) {
    return NodeSystemGrpc.newBlockingV2Stub(asOwner(place, MANAGEMENT_PORT));
  }

  public RuntimeGrpc.RuntimeBlockingV2Stub runtime(Place place) {
    return limited(RuntimeGrpc.newBlockingV2Stub(asOwner(place, MANAGEMENT_PORT)));
  }

  public AuditGrpc.AuditBlockingV2Stub audit() {
    return limited(AuditGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT)));
  }

  /** Returns a stub without a deadline: a log that is followed has no end. */
  public AuditGrpc.AuditBlockingV2Stub auditStream() {
    return AuditGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT));
  }

  /** Returns a stub without a deadline: a log that is followed has no end. */
  public KubernetesAuditGrpc.KubernetesAuditBlockingV2Stub kubernetesAudit() {
    return KubernetesAuditGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT));
  }

  public HealthGrpc.HealthBlockingV2Stub health(Place place) {
    return limited(HealthGrpc.newBlockingV2Stub(asOwner(place, MANAGEMENT_PORT)));
  }

  public DebugGrpc.DebugBlockingV2Stub debug() {
    return limited(DebugGrpc.newBlockingV2Stub(plaintext()));
  }

  public NodeDebugServiceGrpc.NodeDebugServiceBlockingV2Stub nodeDebug() {
    return NodeDebugServiceGrpc.newBlockingV2Stub(plaintext());
  }

  /**
   * Returns a stub without a deadline: an archive takes as long as its disk and the node's need.
   */
  public NodeImagesGrpc.NodeImagesBlockingV2Stub images() {
    return NodeImagesGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT));
  }

  private Channel plaintext() {
    InetSocketAddress address = target.debug();
    return peers.computeIfAbsent(
        new Peer(null, address, null), _ -> keep(RpcClients.plaintext(address), address));
  }

  /**
   * Bounds the time of each call, which begins with the call: one that is repeated gets the whole
   * time.
   */
  public <S extends AbstractStub<S>> S limited(S stub) {
    return stub.withInterceptors(
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return next.newCall(method, options.withDeadlineAfter(timeout, TimeUnit.SECONDS));
          }
        });
  }

  /** Returns the one channel on which the owner calls the curator. */
  private Channel curator() {
    UserCredentials owner = credentials();
    return curators.computeIfAbsent(
        owner,
        _ ->
            ClientInterceptors.intercept(
                curator(owner.ca(), trust -> RpcClients.authenticated(owner.tls(), trust)),
                changes));
  }

  /**
   * Opens a channel to the curator of the node that this session means. Once that node names
   * another one as the leader, the calls go there: to this very node of the cluster, whose
   * certificate it must prove.
   *
   * @param as makes the clients that accept certain nodes
   */
  public Channel curator(CaBundle ca, Function<RpcTrust, RpcClients> as) {
    return new LeaderChannel(
        dial(as.apply(trust(ca)), address(CURATOR_PORT)),
        route,
        leader -> {
          ManagedChannel connection =
              as.apply(new RpcTrust.Node(source(ca), leader.node())).dial(leader.address());
          return LeaderChannel.connecting(connection, keep(connection, leader.address()));
        });
  }

  /** Returns the address of the leader that has answered in place of the node that was named. */
  public Optional<String> referredTo() {
    return route.leader().map(leader -> HostPort.host(leader.address().getAddress()));
  }

  private Channel asOwner(int port) {
    return asOwner(here(), port);
  }

  /**
   * Returns the one channel to a peer: each try of a repeated call would open another, and all of
   * them would connect at once to a node that has just come back.
   */
  private Channel asOwner(Place place, int port) {
    UserCredentials owner = credentials();
    InetSocketAddress address = resolved(place.host(), port);
    return peers.computeIfAbsent(
        new Peer(owner, address, place.nodeOrNull()),
        _ -> dial(RpcClients.authenticated(owner.tls(), trust(place, owner.ca())), address));
  }

  /** Returns the trust in the node that this session means, and in no other of its cluster. */
  public RpcTrust trust(CaBundle ca) {
    return trust(here(), ca);
  }

  private RpcTrust trust(Place place, CaBundle ca) {
    return place
        .node()
        .<RpcTrust>map(node -> new RpcTrust.Node(source(ca), node))
        .orElseGet(() -> new RpcTrust.Known(source(ca), answering -> known(place, ca, answering)));
  }

  private TlsTrust.Source source(CaBundle ca) {
    // Read here, since a damaged list ends the command, and is no failure of a connection.
    Optional<Crl> known = target.knownRevocations().list(ca);
    return TlsTrust.Source.of(() -> ca, () -> known);
  }

  /** Notes that this command revokes certificates. */
  public void revoked() {
    revoked = true;
  }

  /**
   * Asks which certificates the cluster has revoked, after a command that has revoked some, and
   * otherwise if the known list is old. Without an answer a later command asks again.
   */
  void learnRevocations() throws InterruptedException {
    if (curators.isEmpty() || !revoked && !target.knownRevocations().isDue()) {
      return;
    }
    try {
      UserCredentials owner = credentials();
      byte[] list =
          MembershipGrpc.newBlockingV2Stub(curator())
              .withDeadlineAfter(RESTART)
              .getRevocations(GetRevocationsRequest.getDefaultInstance())
              .getRevocations()
              .toByteArray();
      target.knownRevocations().learn(Crl.parse(list), owner.ca());
    } catch (StatusException | PkiException | CtlException unknown) {
      return; // the command itself has succeeded
    }
  }

  private NodeId known(Place place, CaBundle ca, NodeId answering) {
    if (closed) {
      throw new IdentityException("the command has ended");
    }
    return target.knownNodes().expected(place.host(), ca, answering);
  }

  /** Opens a channel that is closed with this session. */
  public Channel dial(RpcClients clients, InetSocketAddress address) {
    return keep(clients.dial(address), address);
  }

  public int timeout() {
    return timeout;
  }

  public String host() {
    return target.endpoint();
  }

  /** Returns the place of the node that this session means. */
  public Place here() {
    return new Place(target.endpoint(), target.nodeOrNull());
  }

  public InetSocketAddress address(int port) {
    return resolved(host(), port);
  }

  static InetSocketAddress resolved(String host, int port) {
    InetSocketAddress address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) {
      throw new CtlException(
          ExitCode.UNREACHABLE,
          "no address is known for \"%s\"; give an IP address, or a name that resolves, without a port"
              .formatted(host));
    }
    return address;
  }

  /** Keeps a channel to close it, and remembers which of several was asked last. */
  private Channel keep(ManagedChannel channel, InetSocketAddress address) {
    channels.add(channel);
    // The connection is made while the call is prepared.
    channel.getState(true);
    return ClientInterceptors.intercept(
        channel,
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            asked = address;
            readsOnly = RpcMethods.readsOnly(method);
            sent = false;
            if (!isOfLeader(address) && target.listenersNow().areClosed(address)) {
              // Whatever else listens there is not this node.
              return closed(next.newCall(method, options));
            }
            return next.newCall(method, options.withStreamTracerFactory(new Sending()));
          }
        });
  }

  /** Returns whether a curator has named the node at this address as the leader. */
  private boolean isOfLeader(InetSocketAddress address) {
    return route.leader().filter(leader -> leader.address().equals(address)).isPresent();
  }

  /** Returns a call that ends at once, as where nothing listens. */
  private static <Q, A> ClientCall<Q, A> closed(ClientCall<Q, A> call) {
    return new CheckedForwardingClientCall<>(call) {
      @Override
      protected void checkedStart(Listener<A> listener, Metadata headers) throws StatusException {
        throw notOpen();
      }
    };
  }

  private static StatusException notOpen() {
    return new StatusException(
        Status.UNAVAILABLE.withCause(new ConnectException("its listener is not open")));
  }

  /** Notes that a call was written to a connection, which is after the connection's handshake. */
  private final class Sending extends ClientStreamTracer.Factory {
    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      return new ClientStreamTracer() {
        @Override
        public void outboundHeaders() {
          sent = true;
        }
      };
    }
  }

  /** Returns the operator's key and certificates. */
  public UserCredentials credentials() {
    String remedy =
        Files.exists(target.ownerCertificate())
            ? "bring them back from a copy of %s, since only the key of this cluster's owner fits the certificates there"
                .formatted(target.folder())
            : "take ownership first: " + takeOwnership;
    String key = CtlFiles.read(target.ownerKey(), remedy);
    String certificate = CtlFiles.read(target.ownerCertificate(), remedy);
    String ca = CtlFiles.read(target.clusterCa(), remedy);
    try {
      return UserCredentials.fromPem(key, certificate, ca);
    } catch (PkiException e) {
      throw new CtlException(
          "the owner's files in %s do not fit together: %s; %s"
              .formatted(target.folder(), e.getMessage(), remedy),
          e);
    }
  }

  /**
   * Makes a call, and explains its failure to the operator. It repeats a call that had no effect, a
   * call that only reads, and a change that the cluster remembers: a node that restarts its process
   * ends its connections and refuses new ones for a moment, and until its services run it asks for
   * another try or answers late. A call that a curator refuses because another node leads goes to
   * the leader at once; if the leader is lost, it begins again at the node that this session means,
   * whose curator learns of the next leader.
   */
  public <T> T call(Call<T> call) throws InterruptedException {
    return call(call, true);
  }

  /**
   * Asks the curator, and the node beside it: as soon as the node knows that its curator is away
   * and does not come by itself, its answer is not waited for.
   *
   * @param call only reads
   * @param patience how long to wait for the curator of a node that answers itself
   * @throws CtlException UNREACHABLE, with the root cause and what to do, if the curator is away
   */
  public <T> T unlessAway(Call<T> call, Duration patience) throws InterruptedException {
    try (CuratorWatch watch = CuratorWatch.start(this, patience)) {
      return watch.call(call);
    }
  }

  /**
   * Returns that the curator of a node on this machine cannot be asked, as far as the node has
   * written it down.
   */
  Optional<CtlException> curatorClosed() {
    CtlListeners now = target.listenersNow();
    boolean owned = Files.isReadable(target.ownerCertificate());
    if (now.state().isEmpty() || !owned && target.lastCrash().isEmpty()) {
      return Optional.empty();
    }
    InetSocketAddress address = address(CURATOR_PORT);
    boolean away = now.nodeIsDown() ? target.hasEnded() : now.areClosed(address);
    return away && !target.isRestarting()
        ? Optional.of(
            new CallFailure(notOpen(), address, false, target, timeout, takeOwnership).explain())
        : Optional.empty();
  }

  /** Returns whether the node's process starts over at this moment. */
  boolean isRestarting() {
    return target.isRestarting();
  }

  /** Asks another node for its health. */
  public GetHealthResponse healthOf(Place place) throws InterruptedException {
    return call(() -> health(place).getHealth(GetHealthRequest.getDefaultInstance()));
  }

  /**
   * Returns the node's health: as its owner sees it, or as its debug service shows it to every
   * client.
   */
  public GetHealthResponse ownHealth() throws InterruptedException {
    GetHealthRequest request = GetHealthRequest.getDefaultInstance();
    if (mayAskManagement()) {
      try {
        return health(here()).getHealth(request);
      } catch (StatusException away) {
        // The debug service needs no credentials, and not what serves operators.
      }
    }
    return call(() -> debug().getHealth(request));
  }

  /**
   * Returns whether there are credentials, and the listener that wants them is not known closed.
   */
  public boolean mayAskManagement() {
    return Files.isReadable(target.ownerCertificate())
        && !target.listenersNow().areClosed(address(MANAGEMENT_PORT));
  }

  /**
   * Makes a call that prints its answers when they arrive. A call that was sent is not repeated,
   * since it would print them twice.
   */
  public <T> T stream(Call<T> call) throws InterruptedException {
    return call(call, false);
  }

  private <T> T call(Call<T> call, boolean again) throws InterruptedException {
    long began = System.nanoTime();
    long failedFirst = Long.MAX_VALUE;
    Optional<CallFailure> before = Optional.empty();
    Optional<CtlException> referred = Optional.empty();
    changes.next();
    while (true) {
      boolean startsOver = target.isRestarting();
      try {
        T answer = call.run();
        route.arrived();
        return answer;
      } catch (StatusException e) {
        if (LeaderHint.of(e).filter(route::follow).isPresent()) {
          continue;
        }
        Optional<NodeEndpoint> leader =
            route.leader().filter(named -> named.address().equals(asked));
        if (leader.isPresent()) {
          referred = Optional.of(leaveLeader(e, leader.get(), again, System.nanoTime() - began));
        } else {
          startsOver |= target.isRestarting();
          CallFailure failure = new CallFailure(e, asked, sent, target, timeout, takeOwnership);
          long now = System.nanoTime();
          // A call may have taken long before its connection ended; the node is away since then.
          failedFirst = before.isEmpty() ? now : failedFirst;
          if (startsOver && now - failedFirst < OWN_RESTART.toNanos()) {
            // What the node takes to start over is not time in which it failed to answer.
            began = now;
          }
          boolean lost = wasLost(failure, startsOver);
          boolean harmless = failure.wasNeverSent() || lost && again && mayBeMadeAgain();
          if (!mayRepeat(failure, harmless, now - Math.max(began, failedFirst), now - began)) {
            CallFailure told = before.filter(_ -> failure.isLate()).orElse(failure);
            throw withOutcome(
                told, referred.filter(_ -> failure.isLate()).orElseGet(told::explain));
          }
          before = Optional.of(failure);
          referred = Optional.empty();
        }
      }
      Thread.sleep(AGAIN);
      channels.forEach(ManagedChannel::resetConnectBackoff);
    }
  }

  /**
   * Returns to the named node if the leader is lost, whose successor that node will know.
   *
   * @param since how long ago the first try began
   * @return the failure, for a call whose time ends before another answer
   * @throws CtlException if the call must not be repeated, or its time is over
   */
  private CtlException leaveLeader(
      StatusException e, NodeEndpoint leader, boolean again, long since) {
    String host = HostPort.host(leader.address().getAddress());
    int patience = sent ? timeout : (int) LeaderChannel.CONNECT.toSeconds();
    CallFailure failure =
        new CallFailure(e, leader.address(), sent, target.at(host), patience, takeOwnership);
    boolean lost = wasLost(failure, false);
    boolean harmless = failure.wasNeverSent() || lost && again && mayBeMadeAgain();
    if (harmless) {
      route.back();
    }
    CtlException told =
        failure.saidByNode() ? failure.explain() : ofLeader(failure.explain(), leader);
    if (!harmless && !failure.asksAgain() || since >= TimeUnit.SECONDS.toNanos(timeout)) {
      throw withOutcome(failure, told);
    }
    return told;
  }

  /** Returns whether the node may have done what the call asks for; notes it of a change. */
  private boolean wasLost(CallFailure failure, boolean startsOver) {
    boolean lost = failure.wasCutOff() || failure.isUndecided() || startsOver && failure.isLate();
    if (lost && !readsOnly && !failure.wasNeverSent()) {
      changes.lost();
    }
    return lost;
  }

  private boolean mayBeMadeAgain() {
    return readsOnly || changes.mayRepeat();
  }

  /** Adds that an attempt may have made the change, unless the leader refuses it afterwards. */
  private CtlException withOutcome(CallFailure failure, CtlException told) {
    return changes.wasLost() && failure.leavesOutcomeOpen()
        ? new CtlException(
            told.exitCode(),
            told.getMessage()
                + "; the answer to the change was lost, so it may have been made: read the record"
                + " before you repeat the command",
            told.getCause())
        : told;
  }

  /** Names both nodes: the operator has named one, and the other one has not answered. */
  private CtlException ofLeader(CtlException failure, NodeEndpoint leader) {
    return new CtlException(
        failure.exitCode(),
        "%s does not lead and names the leader, %s; %s"
            .formatted(HostPort.of(address(CURATOR_PORT)), leader.node(), failure.getMessage()),
        failure.getCause());
  }

  private boolean mayRepeat(CallFailure failure, boolean harmless, long away, long since) {
    if (target.hasEnded()) {
      return false;
    }
    if (harmless) {
      // A change that may have been made is worth the whole patience.
      return changes.wasLost()
          ? since < TimeUnit.SECONDS.toNanos(timeout)
          : away < RESTART.toNanos();
    }
    return failure.asksAgain() && since < TimeUnit.SECONDS.toNanos(timeout);
  }

  /** Reads the CAs of a cluster that were written by this tool or by a node. */
  public static CaBundle authorities(Path file, String remedy) {
    return CtlFiles.parse(
        file, CtlFiles.read(file, remedy), CaBundle::fromPem, "CA certificate", remedy);
  }

  @Override
  public void close() {
    closed = true;
    channels.forEach(ManagedChannel::shutdownNow);
  }
}
