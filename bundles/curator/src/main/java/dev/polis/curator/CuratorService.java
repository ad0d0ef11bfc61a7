package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.curator.api.AaaApi;
import dev.polis.curator.api.AttestationApi;
import dev.polis.curator.api.CertificatesApi;
import dev.polis.curator.api.ChangesApi;
import dev.polis.curator.api.ClusterCaApi;
import dev.polis.curator.api.ConsensusMembers;
import dev.polis.curator.api.CuratorApi;
import dev.polis.curator.api.CuratorLocalApi;
import dev.polis.curator.api.EtcdCa;
import dev.polis.curator.api.MachineAttestation;
import dev.polis.curator.api.ManagementApi;
import dev.polis.curator.api.MembershipApi;
import dev.polis.curator.api.OperatorsApi;
import dev.polis.curator.api.OwnerKeysApi;
import dev.polis.curator.api.PluginSetApi;
import dev.polis.curator.api.PluginTrustApi;
import dev.polis.curator.api.RegisterTicketsApi;
import dev.polis.curator.api.SignedPlugins;
import dev.polis.curator.api.WorkerCertificates;
import dev.polis.curator.leader.AdvertisedAddress;
import dev.polis.curator.leader.CuratorElection;
import dev.polis.curator.leader.LeaderFeeds;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.leader.RepeatableCalls;
import dev.polis.curator.leader.TrustFeeds;
import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.SharedEtcdConnection;
import dev.polis.handover.HandOverException;
import dev.polis.handover.HandOvers;
import dev.polis.handover.OrganInstance;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.SelfCheck;
import dev.polis.health.StatusHealth;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.Supervisor;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.TrustLists;
import dev.polis.wire.cluster.TrustedKeys;
import dev.polis.wire.curator.GetCACertificateResponse;
import io.grpc.BindableService;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Writes the first records of a cluster, and campaigns for leadership once it has the node's
 * credentials. Thread-safe.
 *
 * <p>Another instance continues in its place without an election: first that instance gets the
 * calls, which wait at its gate; then this one ends its calls and passes on its place in the
 * election.
 */
final class CuratorService implements Curator, OrganInstance {

  /** The etcd user, and the namespace, of the curator. */
  static final String USER = "curator";

  /** The etcd user whose namespace holds the certificates of Kubernetes. */
  private static final String KUBERNETES = "kubernetes";

  /**
   * Holds the services that the organ uses.
   *
   * @param etcd opens connections to etcd
   * @param endpoints registers the gRPC services when serving begins
   * @param nanoTime a monotonic clock, for the age of heartbeats
   * @param signed finds the running plugins that a key has signed
   * @param trust gets the keys whose signatures on plugins the cluster trusts, at each change
   */
  record Parts(
      Consensus consensus,
      Function<Supplier<EtcdAccess>, SharedEtcdConnection> etcd,
      Network network,
      RpcHost rpc,
      Supervisor supervisor,
      HealthRegistry health,
      Endpoints endpoints,
      LongSupplier nanoTime,
      SignedPlugins signed,
      Trust trust) {}

  /** Registers gRPC services with the RPC host. */
  interface Endpoints {
    /** Serves these services, which get the new calls from now on. */
    void register(List<BindableService> services);

    /** Withdraws the services; returns when their calls have ended. */
    void withdraw();

    /** Withdraws the services, and accepts no further ones. */
    void close();
  }

  /** Receives the trusted keys until it is closed. */
  interface Trust extends Consumer<TrustRoots> {
    /** Unregisters the keys, and ignores later ones. */
    void close();
  }

  // The names of the values that one instance passes to the next, besides those of its election.
  private static final String CREDENTIALS = "credentials";
  private static final String CURATORS = "curators";
  private static final String STATUS = "following";

  private final CuratorSettings settings;
  private final Parts parts;
  private final SharedEtcdConnection etcd;
  private final AdvertisedAddress address;
  private final Subtree subtree;
  private final HealthScope health;
  private final MutableValue<CuratorStatus> status = new MutableValue<>();
  private final CallStreams streams = new CallStreams();
  private final LeaderFeeds leaders = new LeaderFeeds(status, streams);
  private final LocalTrust trust;
  private final TrustFeeds trusts;
  private final LeaderGate gate;
  private final ConsensusMembers members;
  // One order at a time: serve, follow or leave.
  private final Object orders = new Object();
  private NodeCredentials serving; // null until asked to serve; guarded by this
  private Subtree work; // the tasks of serving or following; null before; guarded by this
  private CuratorElection election; // null unless asked to serve; guarded by this
  private RemoteCurator remote; // null unless asked to follow; guarded by this
  private boolean gave; // guarded by this

  /** Creates an idle curator, which waits for {@link #serve}. */
  CuratorService(CuratorSettings settings, Parts parts) {
    this(settings, parts, new CuratorStatus.Idle());
  }

  /** Starts a curator, which continues the work of a previous instance if there is one. */
  static CuratorService start(
      CuratorSettings settings, Parts parts, HandOvers.Predecessor predecessor) {
    if (!predecessor.exists()) {
      return new CuratorService(settings, parts);
    }
    CuratorService service = new CuratorService(settings, parts, null);
    try {
      service.takeOver(predecessor);
      return service;
    } catch (Throwable failure) {
      service.letGo();
      service.close(StopReason.CODE_REPLACED);
      throw failure;
    }
  }

  /** Creates a curator without a status if {@code first} is null: it takes over. */
  private CuratorService(CuratorSettings settings, Parts parts, CuratorStatus first) {
    if (first != null) {
      status.set(first);
    }
    this.settings = settings;
    this.parts = parts;
    this.etcd = parts.etcd().apply(() -> parts.consensus().access(USER));
    this.address = new AdvertisedAddress(parts.network(), settings.port());
    this.trust = new LocalTrust(parts.rpc(), parts.trust());
    this.trusts = new TrustFeeds(status, trust.lists(), streams);
    this.gate = new LeaderGate(parts.consensus().status(), status);
    this.members = new ConsensusMembers(parts.consensus());
    this.subtree = parts.supervisor().organ("curator");
    this.health = parts.health().organ("curator", subtree.dn());
    subtree.run("health", StatusHealth.task(status, health, CuratorHealth::of));
    subtree.run("gate", gate::run);
    subtree.run("record-health", SelfCheck.task(health, this::recordHealth));
  }

  @Override
  public BootstrapOutcome bootstrap(BootstrapRequest request) throws InterruptedException {
    try (EtcdClient client = connect()) {
      CuratorPki pki = new CuratorPki(client, client.kv(), InstantSource.system());
      return new CuratorBootstrap(client.kv(), pki).run(request);
    } catch (RpcException | EtcdException | PkiException e) {
      throw new CuratorException(e.getMessage(), e);
    }
  }

  @Override
  public void serve(NodeCredentials credentials) {
    synchronized (orders) {
      serving().ifPresent(present -> requireSame(present, credentials));
      if (election().isPresent()) {
        return;
      }
      requireWork("serve");
      if (endWork()) {
        // The endpoints stay, and so does the known leader until the election names one.
        startTasks(credentials);
      } else {
        status.set(new CuratorStatus.Campaigning("the election begins"));
        startTasks(credentials);
        parts.endpoints().register(endpoints(credentials));
      }
      election().orElseThrow().stand(OrganState.NONE);
    }
  }

  private synchronized void requireWork(String order) {
    if (gave) {
      throw new CuratorException(
          "this curator has given its work to another instance; ask that instance to " + order);
    }
  }

  /**
   * Ends the tasks of serving or following; returns whether there were any. The tasks take the lock
   * of this object while they end, so the caller must not hold it.
   */
  private boolean endWork() {
    Subtree ending;
    synchronized (this) {
      if (work == null) {
        return false;
      }
      ending = work;
      work = null;
      election = null;
      remote = null;
    }
    ending.close(StopReason.ROLE_REMOVED);
    return true;
  }

  @Override
  public void follow(NodeCredentials credentials, Set<NodeEndpoint> curators) {
    synchronized (orders) {
      serving().ifPresent(present -> requireSame(present, credentials));
      if (remote().isPresent()) {
        return;
      }
      requireWork("follow");
      follow(credentials, curators, new CuratorStatus.Campaigning("looks for the leader"));
    }
  }

  private void follow(
      NodeCredentials credentials, Set<NodeEndpoint> curators, CuratorStatus first) {
    boolean served = endWork();
    status.set(first);
    startFollowing(credentials, curators);
    if (served) {
      gate.refuse();
    } else {
      serveAsFollower(credentials);
    }
  }

  private synchronized void startFollowing(
      NodeCredentials credentials, Set<NodeEndpoint> curators) {
    serving = credentials;
    remote = new RemoteCurator(credentials, curators, trust, status);
    work = subtree.subtree("following");
    work.run("remote", remote::run);
    work.run("leader-feeds", leaders::run);
    // For streams that began while this node led.
    work.run("trust-feeds", trusts::run);
  }

  /** Serves the question which node leads, and refuses the calls that need the records. */
  private void serveAsFollower(NodeCredentials credentials) {
    gate.refuse();
    parts.endpoints().register(endpoints(credentials));
  }

  private synchronized Optional<RemoteCurator> remote() {
    return Optional.ofNullable(remote);
  }

  /**
   * Starts the parts that serve no calls: the watches, and the election, which does not campaign
   * yet.
   */
  private synchronized void startTasks(NodeCredentials credentials) {
    serving = credentials;
    election =
        new CuratorElection(
            this::connect,
            credentials.id(),
            settings.leaderTtl(),
            address,
            gate,
            status,
            parts.nanoTime());
    work = subtree.subtree("records");
    work.run("election", election::run);
    work.run("leader-feeds", leaders::run);
    work.run("revocations", new RevocationWatch(this::connect, trust)::run);
    work.run(
        "trusted-keys",
        new TrustRecordWatch<>(
                this::connect,
                RecordKeys.TRUSTED_KEYS,
                TrustedKeys.parser(),
                TrustedKeys.getDefaultInstance(),
                trust::trust)
            ::run);
    work.run(
        "operators",
        new TrustRecordWatch<>(
                this::connect,
                RecordKeys.OPERATORS,
                OperatorList.parser(),
                OperatorList.getDefaultInstance(),
                trust::admit)
            ::run);
    work.run("trust-feeds", trusts::run);
    work.run("members", new MemberReconciler(gate, members, credentials.id())::run);
  }

  private synchronized Optional<NodeCredentials> serving() {
    return Optional.ofNullable(serving);
  }

  private synchronized Optional<CuratorElection> election() {
    return Optional.ofNullable(election);
  }

  /** Refuses credentials of another node or cluster, but accepts a renewed certificate. */
  private void requireSame(NodeCredentials present, NodeCredentials other) {
    if (!present.id().equals(other.id())) {
      throw new CuratorException(
          "this curator serves for %s and cannot serve for %s too; restart the node"
              .formatted(present.id(), other.id()));
    }
    if (!trust.authorities().sharesWith(other.ca())) {
      throw new CuratorException(
          "this curator serves %s in one cluster and cannot serve it in another, with another CA;"
                  .formatted(present.id())
              + " restart the node");
    }
  }

  private List<BindableService> endpoints(NodeCredentials credentials) {
    MachineAttestation attestation = new MachineAttestation(new SecureRandom(), parts.nanoTime());
    return Stream.of(
            new ManagementApi(
                credentials.id(),
                gate,
                streams,
                parts.rpc().computing(),
                new SecureRandom(),
                this::issuing,
                InstantSource.system(),
                members),
            new RegisterTicketsApi(gate, new SecureRandom(), InstantSource.system()),
            new AaaApi(gate),
            new OperatorsApi(gate, InstantSource.system()),
            new OwnerKeysApi(gate, new SecureRandom(), parts.nanoTime()),
            new CuratorApi(
                gate,
                streams,
                parts.consensus(),
                new WorkerCertificates(this::connectForKubernetes, InstantSource.system()),
                attestation,
                InstantSource.system()),
            new AttestationApi(gate, attestation, InstantSource.system()),
            new PluginTrustApi(gate, parts.signed()),
            new PluginSetApi(gate, streams, InstantSource.system()),
            new CertificatesApi(credentials.id(), gate, InstantSource.system()),
            new ClusterCaApi(gate, new EtcdCa(parts.consensus(), this::connectForKubernetes)),
            new MembershipApi(gate, trusts, members),
            new CuratorLocalApi(credentials.id(), this::authority, address, leaders),
            new ChangesApi())
        .map(RepeatableCalls::of)
        .toList();
  }

  private ByteString issuing() {
    return ByteString.copyFrom(Pem.der(trust.authorities().issuing()));
  }

  /** Returns the CA with its proof, without which a caller of a former CA takes it for foreign. */
  private GetCACertificateResponse authority() {
    TrustLists known = trust.lists().peek().orElseThrow();
    // The list comes after the proof.
    if (known.getRevocations().isEmpty()) {
      throw RpcException.unavailable(
          "this curator has just started and has not read yet which CAs the cluster has had; ask again, or another curator",
          Duration.ofSeconds(1));
    }
    return GetCACertificateResponse.newBuilder()
        .setIdentityCaCertificate(issuing())
        .addAllCaSuccession(known.getCaSuccessionList())
        .build();
  }

  @Override
  public X509Certificate renew(NodeCredentials credentials) throws InterruptedException {
    Optional<RemoteCurator> asked = remote();
    if (asked.isPresent()) {
      return asked.get().renew();
    }
    Optional<CuratorStatus.Following> elsewhere = elsewhere();
    if (elsewhere.isPresent()) {
      return atLeader(
          elsewhere.get(), credentials, leader -> MembershipCalls.renew(leader, credentials));
    }
    try {
      return gate.during(term -> term.pki().ensureNode(credentials.id(), credentials.publicKey()));
    } catch (RpcException | EtcdException | PkiException e) {
      throw new CuratorException(
          "the curator cannot renew the certificate of %s now: %s"
              .formatted(credentials.id(), e.getMessage()),
          e);
    }
  }

  @Override
  public Secret clusterUnlockKey(NodeCredentials credentials) throws InterruptedException {
    Optional<RemoteCurator> asked = remote();
    if (asked.isPresent()) {
      return asked.get().clusterUnlockKey();
    }
    Optional<CuratorStatus.Following> elsewhere = elsewhere();
    if (elsewhere.isPresent()) {
      return atLeader(
          elsewhere.get(),
          credentials,
          leader -> MembershipCalls.clusterUnlockKey(leader, credentials));
    }
    String id = credentials.id().text();
    try {
      ByteString half = gate.during(term -> term.records().requireNode(id)).getClusterUnlockKey();
      if (half.isEmpty()) {
        throw new CuratorException(
            "the record of %s has no half of a volume key: its volume is not encrypted"
                .formatted(id));
      }
      return Secret.take(half.toByteArray());
    } catch (RpcException | EtcdException e) {
      throw new CuratorException(
          "the curator cannot read the record of %s now: %s".formatted(id, e.getMessage()), e);
    }
  }

  /** Asks the leader something. */
  @FunctionalInterface
  private interface Question<T> {
    T at(Channel leader) throws InterruptedException;
  }

  /** Returns the leader, if it is another node with a known address. */
  private Optional<CuratorStatus.Following> elsewhere() {
    return status
        .peek()
        .filter(CuratorStatus.Following.class::isInstance)
        .map(CuratorStatus.Following.class::cast)
        .filter(leader -> !leader.host().isEmpty());
  }

  private static <T> T atLeader(
      CuratorStatus.Following leader, NodeCredentials credentials, Question<T> question)
      throws InterruptedException {
    ManagedChannel channel =
        RpcClients.authenticated(credentials::tls, RpcTrust.cluster(credentials.ca()))
            .dial(
                new NodeEndpoint(
                    leader.leader(), new InetSocketAddress(leader.host(), leader.port())));
    try {
      return question.at(channel);
    } finally {
      channel.shutdownNow();
    }
  }

  /** Returns the records in memory; empty while this node does not lead. */
  Optional<RecordSnapshot> known() {
    return term().map(LeaderTerm::known);
  }

  /** Returns this node's leadership, if it leads. */
  Optional<LeaderTerm> term() {
    return election().flatMap(CuratorElection::term);
  }

  private Optional<HealthCondition> recordHealth() {
    return known()
        .flatMap(records -> serving().flatMap(own -> RecordHealth.of(records, own.id().text())));
  }

  /** Returns a client of this organ's namespace; all of its tasks share a connection. */
  private EtcdClient connect() {
    return etcd.connect();
  }

  private EtcdClient connectForKubernetes() {
    return EtcdClient.connect(parts.consensus().access(KUBERNETES));
  }

  @Override
  public Value<CuratorStatus> status() {
    return status;
  }

  // ---- hand-over between instances

  private void takeOver(HandOvers.Predecessor predecessor) {
    // The endpoints come before the other instance gives its place, so that no call finds it gone.
    // Calls wait from then on, so slow steps come earlier.
    predecessor.facts().find(CREDENTIALS, NodeCredentials.class).ifPresent(this::connectAndServe);
    OrganState state = predecessor.take();
    Optional<NodeCredentials> credentials = state.find(CREDENTIALS, NodeCredentials.class);
    if (credentials.isEmpty()) {
      status.set(new CuratorStatus.Idle());
      return;
    }
    if (follows(state)) {
      follow(credentials.get(), curators(state), state.require(STATUS, CuratorStatus.class));
      return;
    }
    if (serving().isEmpty()) {
      startTasks(credentials.get());
      parts.endpoints().register(endpoints(credentials.get()));
    }
    election().orElseThrow().stand(state);
    awaitTakenUp(CuratorElection.led(state));
  }

  @Override
  public void leave() {
    synchronized (orders) {
      if (serving().isEmpty()) {
        return;
      }
      parts.endpoints().withdraw();
      endWork();
      forget();
      status.set(new CuratorStatus.Idle());
    }
  }

  private synchronized void forget() {
    serving = null;
  }

  private static boolean follows(OrganState state) {
    return state.find(CURATORS, Set.class).isPresent();
  }

  @SuppressWarnings("unchecked") // the value of give()
  private static Set<NodeEndpoint> curators(OrganState state) {
    return (Set<NodeEndpoint>) state.require(CURATORS, Set.class);
  }

  private void connectAndServe(NodeCredentials credentials) {
    List<BindableService> services = endpoints(credentials);
    startTasks(credentials);
    try {
      election().orElseThrow().awaitConnected();
    } catch (InterruptedException hurried) {
      // The hand-over needs no connection yet; it only takes longer.
      Thread.currentThread().interrupt();
    }
    parts.endpoints().register(services);
  }

  /** Waits until this curator has the other one's place. */
  private void awaitTakenUp(boolean leading) {
    Optional<CuratorStatus> now = Optional.empty();
    try (Watcher<CuratorStatus> watcher = status.watch()) {
      now = Optional.of(watcher.get(CuratorElection.TAKE_UP));
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    } catch (TimeoutException tooLong) {
      now = Optional.empty();
    }
    if (leading && now.filter(CuratorStatus.Leading.class::isInstance).isEmpty()) {
      throw new HandOverException(
          "the new curator did not take over the leadership within %d s: %s; check that etcd answers (polisctl explain consensus)"
              .formatted(
                  CuratorElection.TAKE_UP.toSeconds(),
                  now.map(CuratorStatus::describe).orElse("etcd did not name a leader")));
    }
    if (now.isEmpty()) {
      status.update(
          known ->
              known.orElseGet(
                  () -> new CuratorStatus.Campaigning("etcd has not named a leader yet")));
    }
  }

  @Override
  public OrganState facts() {
    // A follower has nothing that another instance could prepare.
    return OrganState.NONE.with(CREDENTIALS, election().flatMap(standing -> serving()));
  }

  @Override
  public OrganState give() throws InterruptedException {
    Optional<RemoteCurator> following = remote();
    if (following.isPresent()) {
      gate.dismiss();
      parts.endpoints().withdraw();
      markGave(true);
      return OrganState.NONE
          .with(CREDENTIALS, following.get().credentials())
          .with(CURATORS, following.get().curators())
          .with(STATUS, status.peek().orElseThrow());
    }
    Optional<CuratorElection> standing = election();
    if (standing.isEmpty()) {
      markGave(true);
      return OrganState.NONE;
    }
    gate.dismiss();
    parts.endpoints().withdraw();
    try {
      OrganState state = standing.get().give().with(CREDENTIALS, serving());
      // This refuses a client that still calls this instance at once; the client calls again.
      gate.dismiss();
      markGave(true);
      return state;
    } catch (InterruptedException hurried) {
      prepare();
      throw hurried;
    }
  }

  @Override
  public void prepare() {
    if (remote().isEmpty()) {
      serving().ifPresent(credentials -> parts.endpoints().register(endpoints(credentials)));
    }
  }

  @Override
  public void resume(OrganState state) {
    markGave(false);
    if (remote().isPresent()) {
      serveAsFollower(remote().get().credentials());
    } else if (follows(state)) {
      follow(
          state.require(CREDENTIALS, NodeCredentials.class),
          curators(state),
          state.require(STATUS, CuratorStatus.class));
    } else if (election().isPresent()) {
      election().get().stand(state);
    } else {
      state.find(CREDENTIALS, NodeCredentials.class).ifPresent(this::serve);
    }
  }

  private synchronized void markGave(boolean now) {
    gave = now;
  }

  /** Releases the resources of a failed start, without taking any from the previous instance. */
  private void letGo() {
    parts.endpoints().withdraw();
    try {
      if (election().isPresent()) {
        election().get().give();
      }
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Withdraws the endpoints, which lets running calls finish, stops the campaign and resigns,
   * unless another instance has the place.
   */
  @Override
  public void close(StopReason reason) {
    parts.endpoints().close();
    parts.trust().close();
    health.close();
    streams.close();
    gate.close();
    subtree.close(reason);
  }
}
