package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.network.NetworkStatus;
import dev.polis.boot.StopReason;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdPermission;
import dev.polis.etcd.EtcdTls;
import dev.polis.etcd.KeyRange;
import dev.polis.event.MutableValue;
import dev.polis.event.Values;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.TestPki;
import dev.polis.health.HealthTable;
import dev.polis.kubernetes.settings.AddressRange;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Assumptions;

/**
 * Gives the control plane a real etcd that knows users by their certificates, an address and a
 * disk, and runs it as the role server does. Closing ends its programs and deletes everything.
 */
final class ControlHarness implements AutoCloseable {

  /** An API server is ready after 3 s on a quiet machine, and after 12 under load. */
  static final Duration PATIENCE = Duration.ofSeconds(120);

  private static final List<String> USERS = List.of("root", "kubernetes", "kube-apiserver");

  private final Path folder = Files.createTempDirectory("polis-control");
  private final TestPki etcdPki = new TestPki();
  final EtcdFixture etcd;
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

  /** Makes one; skips the test, in words, where there are no programs. */
  static ControlHarness open() throws Exception {
    String programs = System.getenv().getOrDefault("POLIS_KUBERNETES", "");
    Assumptions.assumeTrue(
        Files.isExecutable(Path.of(programs, "bin", "kube-apiserver")),
        "running a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    return new ControlHarness(programs);
  }

  private ControlHarness(String programs) throws Exception {
    this.programs = programs;
    ThreadLocalRandom random = ThreadLocalRandom.current();
    address =
        InetAddress.getByAddress(
            new byte[] {127, 99, (byte) random.nextInt(256), (byte) random.nextInt(1, 255)});
    network = new MutableValue<>(new NetworkStatus.Up(address));
    etcd = EtcdFixture.start(1, etcdPki.etcdArguments(folder, etcdPki.issue("etcd", "localhost")));
    try (EtcdClient root = EtcdClient.connect(access("root", EtcdNamespace.ROOT))) {
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
    TestPki.Identity identity = etcdPki.issue(user);
    String port = etcd.member(0).endpoint().replaceFirst(".*:", "");
    return new EtcdAccess(
        List.of(EtcdEndpoint.of("localhost:" + port)),
        new EtcdAccess.MutualTls(
            new EtcdTls(
                List.of(etcdPki.authority()), identity.key(), List.of(identity.certificate()))),
        namespace);
  }

  private ClusterStatus member() {
    CertificateAuthority ca = CertificateAuthority.create("Test cluster");
    KeyPair key = Ed25519.generate();
    NodeCredentials credentials =
        new NodeCredentials(key.getPrivate(), ca.issueNode(key.getPublic()), ca.certificate());
    return (ClusterStatus)
        Proxy.newProxyInstance(
            ControlHarness.class.getClassLoader(),
            new Class<?>[] {ClusterStatus.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "credentials" -> Optional.of(credentials);
                  case "state" -> ClusterState.HOME;
                  case "consensusClient" -> access((ConsensusUser) arguments[0]);
                  case "equals" -> self == arguments[0];
                  case "hashCode" -> System.identityHashCode(self);
                  case "toString" -> "a member";
                  default -> throw new AssertionError("not to be asked: " + method);
                });
  }

  private EtcdAccess access(ConsensusUser user) {
    return access(
        user.userName(),
        user == ConsensusUser.KUBERNETES ? EtcdNamespace.of("kubernetes") : EtcdNamespace.ROOT);
  }

  KubernetesSettings settings() {
    return new KubernetesSettings(
        6444,
        programs,
        6443,
        6445,
        AddressRange.of("10.244.0.0/16"),
        AddressRange.of("10.96.0.0/16"),
        "cluster.local",
        AddressRange.of("198.18.0.0/15"),
        "auto");
  }

  InetAddress hostAddress() {
    return KubernetesAddresses.of(address, settings().links()).host();
  }

  FolderPlacement folder(OrganFolder declared) throws FileException {
    FolderPlacement placed = Root.at(folder.resolve("state")).data().organFolder(declared);
    placed.create();
    return placed;
  }

  /** Runs the control plane with new code, in place of the one before. */
  ControlPlane start() {
    return start(CertificateTemplate.NODE_LIFETIME);
  }

  /** Runs it with certificates of another life. */
  ControlPlane start(Duration lifetime) {
    plane =
        new ControlPlane(
            settings(),
            new ControlParts(cluster, network, this::folder, processes, health, Optional::empty),
            lifetime);
    subtree = tree.organ("roles");
    subtree.run("plane", plane::run);
    return plane;
  }

  /** Waits until the API server has been ready. */
  ControlAccess awaitAccess() throws Exception {
    return Values.await(plane.access(), Optional::isPresent, PATIENCE, "the API server: " + why())
        .orElseThrow();
  }

  private String why() {
    return tree.runnables().peek().orElseThrow().toString();
  }

  /** Stops the run for a reason, as the role server does, and lets it end its work. */
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
    if (etcd != null) {
      etcd.close();
    }
    for (Path path : LiveTree.bottomUp(folder)) {
      Files.deleteIfExists(path);
    }
  }
}
