package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUnavailableException;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdPermission;
import dev.polis.etcd.EtcdTls;
import dev.polis.etcd.KeyRange;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.TcpProxy;
import dev.polis.fixtures.TestPki;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthTable;
import dev.polis.kubernetes.pki.KubeLifetimes;
import dev.polis.kubernetes.proxy.AuthProxy;
import dev.polis.kubernetes.proxy.ControlBackend;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.kubernetes.settings.AuditSettings;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Renewal;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Assumptions;

/**
 * Runs the control plane as the role server does, with a real etcd that identifies users by their
 * certificates, an address and a disk. Its close ends its programs and deletes everything.
 */
final class ControlHarness implements AutoCloseable {

  /**
   * The time for an API server, which is ready after 3 s on a quiet machine, and after 12 under
   * load.
   */
  static final Duration PATIENCE = Duration.ofSeconds(120);

  private static final List<String> USERS = List.of("root", "kubernetes", "kube-apiserver");

  private final Path folder = Files.createTempDirectory("polis-control");
  private final TestPki etcdPki = new TestPki();
  final EtcdFixture etcd;

  /** Stands between the API server and etcd. */
  volatile TcpProxy etcdWay;

  /** The authority of the cluster's nodes and users. */
  final CertificateAuthority authority = CertificateAuthority.create("Test cluster");

  private final KeyPair nodeKey = Ed25519.generate();

  /** The validity of the certificates that consensus issues from now on. */
  volatile Renewal etcdLife =
      new Renewal(Instant.now().minus(Duration.ofDays(1)), Instant.now().plus(Duration.ofDays(1)));

  final InetAddress address;
  final LogTree logs = LogTree.create();
  final ProcessManager.OpenManager processes =
      ProcessManager.open(folder.resolve("processes"), logs);
  final SupervisionTree tree = SupervisionTree.open(logs);
  final HealthTable health = HealthTable.open(tree);
  final MutableValue<ClusterStatus> cluster = new MutableValue<>();
  final MutableValue<NetworkStatus> network;
  final String programs;
  private Subtree subtree;
  private ControlPlane plane;

  /** Opens a harness; skips the test with a reason if the programs are missing. */
  static ControlHarness open() throws Exception {
    String programs = System.getenv().getOrDefault("POLIS_KUBERNETES", "");
    Assumptions.assumeTrue(
        Files.isExecutable(Path.of(programs, "bin", "kube-apiserver")),
        "running a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    return new ControlHarness(programs);
  }

  private ControlHarness(String programs) throws Exception {
    this.programs = programs;
    // Like a node's folder, so that programs can run under accounts of their own.
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    ThreadLocalRandom random = ThreadLocalRandom.current();
    address =
        InetAddress.getByAddress(
            new byte[] {127, 99, (byte) random.nextInt(256), (byte) random.nextInt(1, 255)});
    network = new MutableValue<>(new NetworkStatus.Up(address));
    etcd = EtcdFixture.start(1, etcdPki.etcdArguments(folder, etcdPki.issue("etcd", "localhost")));
    etcdWay = TcpProxy.to("127.0.0.1", etcd.member(0).clientPort());
    try (EtcdClient root = EtcdClient.connect(access("root", EtcdNamespace.ROOT))) {
      // The first connection on a busy machine takes longer than the limit of a usual call.
      root.kv().within(PATIENCE).get("ready");
      setUpUsers(root.admin());
    }
    cluster.set(member());
  }

  private static void setUpUsers(EtcdAdmin admin) throws InterruptedException {
    for (String user : USERS) {
      admin.addRole(user);
      admin.addUser(user);
      admin.grantRole(user, user);
    }
    admin.grant("kubernetes", EtcdPermission.all(EtcdNamespace.of("kubernetes")));
    for (KeyRange range :
        List.of(KeyRange.prefix("/registry/"), KeyRange.single("compact_rev_key"))) {
      admin.grant("kube-apiserver", new EtcdPermission(EtcdPermission.Access.READ_WRITE, range));
    }
    admin.enableAuth();
  }

  EtcdAccess access(String user, EtcdNamespace namespace) {
    return access(user, namespace, etcd.member(0).clientPort());
  }

  private EtcdAccess access(String user, EtcdNamespace namespace, int port) {
    TestPki.Identity identity =
        etcdPki.issueClient(user, etcdLife.notBefore(), etcdLife.notAfter());
    return new EtcdAccess(
        List.of(EtcdEndpoint.of("localhost:" + port)),
        new EtcdAccess.MutualTls(
            new EtcdTls(
                List.of(etcdPki.authority()), identity.key(), List.of(identity.certificate()))),
        namespace);
  }

  private ClusterStatus member() {
    return TestMember.of(
        new NodeCredentials(
            nodeKey.getPrivate(),
            authority.issueNode(nodeKey.getPublic()),
            authority.certificate()),
        this::access);
  }

  /** Gives the node a new certificate, as the cluster organ does at a due renewal. */
  void renewNode() {
    cluster.set(member());
  }

  /** Ends consensus on this node; returns how often the role has asked for it since. */
  AtomicInteger loseConsensus() {
    AtomicInteger asked = new AtomicInteger();
    etcdWay.refuse();
    cluster.set(
        TestMember.of(
            member().credentials().orElseThrow(),
            _ -> {
              asked.incrementAndGet();
              throw new ConsensusUnavailableException("consensus is replaced");
            }));
    return asked;
  }

  /** Starts it again at another port. */
  void moveConsensus() throws IOException {
    etcdWay.close();
    etcdWay = TcpProxy.to("127.0.0.1", etcd.member(0).clientPort());
    cluster.set(member());
  }

  private EtcdAccess access(ConsensusUser user) {
    return user == ConsensusUser.KUBERNETES
        ? access(user.userName(), EtcdNamespace.of("kubernetes"))
        : access(user.userName(), EtcdNamespace.ROOT, etcdWay.port());
  }

  KubernetesSettings settings() {
    return settings(programs);
  }

  /** Returns whether a runnable works; one waits for a curator, which no harness has. */
  static boolean works(RunnableStatus runnable) {
    return runnable.state().name().equals("HEALTHY") || runnable.dn().endsWith("node-watch");
  }

  /** Returns the settings of a controller with these programs. */
  static KubernetesSettings settings(String programs) {
    return new KubernetesSettings(
        6444,
        programs,
        6443,
        6445,
        AddressRange.of("10.244.0.0/16"),
        AddressRange.of("10.96.0.0/16"),
        "cluster.local",
        AddressRange.of("198.18.0.0/15"),
        "auto",
        AuditSettings.STANDARD);
  }

  InetAddress hostAddress() {
    return KubernetesAddresses.of(address, settings().links()).host();
  }

  FolderPlacement folder(OrganFolder declared) throws FileException {
    Root root = Root.at(folder.resolve("state"));
    FolderPlacement placed = root.data().organFolder(declared);
    placed.create();
    if (declared.mode() == Mode.PASSABLE_DIRECTORY) {
      root.letOthersPass();
      root.data().letOthersPass();
      placed.letOthersPass();
    }
    return placed;
  }

  /** Runs a new control plane, in place of the one before. */
  ControlPlane start() {
    return start(KubeLifetimes.STANDARD, InstantSource.system());
  }

  /** Runs it with certificates of another validity. */
  ControlPlane start(KubeLifetimes lifetimes, InstantSource clock) {
    return run(plane(OrganState.NONE, lifetimes, clock));
  }

  /** Returns a control plane that knows the facts of the running one, and does not run yet. */
  ControlPlane next() {
    return plane(plane.facts(), KubeLifetimes.STANDARD, InstantSource.system());
  }

  private ControlPlane plane(OrganState before, KubeLifetimes lifetimes, InstantSource clock) {
    return new ControlPlane(
        settings(),
        new ControlParts(cluster, network, this::folder, processes, health, Optional::empty),
        before,
        lifetimes,
        clock);
  }

  /** Runs a control plane, in place of the one before. */
  ControlPlane run(ControlPlane next) {
    plane = next;
    subtree = tree.organ("roles");
    subtree.run("plane", plane::run);
    return plane;
  }

  /** Waits until the API server is ready, and returns the access to it. */
  ControlAccess awaitAccess() throws Exception {
    return Await.value(plane.access(), Optional::isPresent, PATIENCE, "the API server: " + why())
        .orElseThrow();
  }

  private String why() {
    return tree.runnables().peek().orElseThrow().toString();
  }

  /** Serves users of the cluster at the node's address, as the role does. */
  void serveUsers() {
    subtree.run(
        "clients",
        new AuthProxy(
                "dev.polis.test",
                settings().port(),
                cluster,
                network,
                Optional::empty,
                new ControlBackend(plane.access()))
            ::run);
  }

  /** Returns a context with which a user of the cluster connects to it. */
  SSLContext user(String name) {
    KeyPair pair = Ed25519.generate();
    return TlsContexts.context(
        TlsKeys.fixed(
            TlsIdentity.of(pair.getPrivate(), authority.issueUser(name, pair.getPublic()))),
        TlsTrust.anyNode(TlsTrust.Source.of(authority.certificate())));
  }

  /**
   * Stops the run with a reason, as the role server does, and ends its work if the reason requires
   * it.
   */
  void stop(StopReason reason) throws Exception {
    subtree.close(reason, PATIENCE);
    if (reason.endsWork()) {
      plane.end(reason == StopReason.ROLE_REMOVED);
    }
  }

  long pid(String program) {
    return processes.find(program).orElseThrow().pid();
  }

  @Override
  public void close() throws IOException {
    tree.close();
    health.close();
    try {
      for (ProcessRecord record : processes.records()) {
        processes.stop(record.name());
      }
      if (plane != null) {
        plane.end(true);
      }
    } catch (InterruptedException interrupted) {
      throw new AssertionError("interrupted while stopping the control plane", interrupted);
    }
    processes.close();
    etcdWay.close();
    etcd.close();
    for (Path path : LiveTree.bottomUp(folder)) {
      Files.deleteIfExists(path);
    }
  }
}
