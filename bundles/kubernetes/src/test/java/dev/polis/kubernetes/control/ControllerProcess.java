package dev.polis.kubernetes.control;

import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.ConsensusUser;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdTls;
import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileException;
import dev.polis.files.FolderPlacement;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthStatus;
import dev.polis.health.HealthTable;
import dev.polis.kubernetes.pki.KubeLifetimes;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import dev.polis.supervision.RunnableStatus;
import dev.polis.supervision.SupervisionTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs a controller in a process of its own, for a test that starts several on one etcd. It
 * executes each line of its input, and answers with one line:
 *
 * <pre>
 *   files INSTANT   makes keys, certificates and files at that instant, as on an empty disk
 *                     ─▶ made DIGEST        of what all controllers have in common
 *   plane INSTANT   runs the whole control plane from that instant on
 *                     ─▶ made DIGEST        once it runs
 *   errors          ─▶ errors TEXT          what an operator has seen of errors since
 * </pre>
 *
 * <p>Its standard error stays empty unless something fails.
 */
final class ControllerProcess {

  private static final Duration PATIENCE = ControlHarness.PATIENCE;

  /** The levels worse than a wait. */
  private static final Set<HealthLevel> TOLD = Set.of(HealthLevel.DEGRADED, HealthLevel.DOWN);

  /**
   * A condition to ignore: when six programs start at once on two busy cores, one may be silent for
   * some seconds.
   */
  private static final String SILENT = "kubernetes-program-silent";

  private final Path folder;
  private final int etcdPort;
  private final InetAddress address;
  private final String programs;
  private final ClusterStatus member;
  private final LogTree logs = LogTree.create();
  private final Set<String> seen = new ConcurrentSkipListSet<>();
  private int round;

  private ControllerProcess(Path folder, int etcdPort, InetAddress address, String programs) {
    this.folder = folder;
    this.etcdPort = etcdPort;
    this.address = address;
    this.programs = programs;
    CertificateAuthority cluster = CertificateAuthority.create("Test cluster");
    KeyPair key = Ed25519.generate();
    this.member =
        TestMember.of(
            new NodeCredentials(
                key.getPrivate(), cluster.issueNode(key.getPublic()), cluster.certificate()),
            this::access);
  }

  /** Names the file of a user of etcd, which holds its key and its certificate. */
  static String userFile(ConsensusUser user) {
    return user.userName() + ".pem";
  }

  /** The file of etcd's authority. */
  static final String AUTHORITY_FILE = "authority.pem";

  /** Takes a folder, the port of etcd, the node's address and a folder of programs. */
  public static void main(String[] arguments) throws Exception {
    new ControllerProcess(
            Path.of(arguments[0]),
            Integer.parseInt(arguments[1]),
            InetAddress.ofLiteral(arguments[2]),
            arguments[3])
        .obey();
  }

  private EtcdAccess access(ConsensusUser user) {
    try {
      String own = Files.readString(folder.resolve(userFile(user)));
      return new EtcdAccess(
          List.of(EtcdEndpoint.of("localhost:" + etcdPort)),
          new EtcdAccess.MutualTls(
              new EtcdTls(
                  List.of(Pem.certificate(Files.readString(folder.resolve(AUTHORITY_FILE)))),
                  Pem.privateKey(own),
                  List.of(Pem.certificate(own)))),
          user == ConsensusUser.KUBERNETES ? EtcdNamespace.of("kubernetes") : EtcdNamespace.ROOT);
    } catch (IOException e) {
      throw new IllegalStateException("the test has not written the users of etcd", e);
    }
  }

  private void obey() throws Exception {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    // The first call of a new JVM on a busy machine takes longer than the limit of a usual call.
    try (EtcdClient client = EtcdClient.connect(access(ConsensusUser.KUBERNETES))) {
      client.kv().within(PATIENCE).get("ready");
    }
    System.out.println("ready");
    try (Plane plane = new Plane()) {
      for (String order = orders.readLine(); order != null; order = orders.readLine()) {
        String[] words = order.split(" ");
        System.out.println(
            switch (words[0]) {
              case "files" -> "made " + files(Instant.parse(words[1]));
              case "plane" -> "made " + plane.run(Instant.parse(words[1]));
              case "errors" -> "errors " + plane.errors();
              default -> throw new IllegalArgumentException(order);
            });
      }
    }
  }

  /** Waits for the instant, long before which both processes have read the order. */
  private static void await(Instant instant) {
    while (Instant.now().isBefore(instant)) {
      LockSupport.parkNanos(Duration.between(Instant.now(), instant).toNanos());
    }
  }

  private String files(Instant at) throws Exception {
    Root root = Root.at(folder.resolve("round-" + ++round));
    ControlFolder files = new ControlFolder(folder(root, ControlFolder.FOLDER));
    ControlMaterial material =
        new ControlMaterial(
            ControlHarness.settings(programs),
            ControlPlace.of(
                member.credentials().orElseThrow().id(), address, ControlHarness.settings("")),
            files,
            InstantSource.system(),
            KubeLifetimes.STANDARD);
    await(at);
    material.refresh(member);
    return common(files);
  }

  private static FolderPlacement folder(Root root, OrganFolder declared) throws FileException {
    FolderPlacement placed = root.data().organFolder(declared);
    placed.create();
    for (DirectoryPlacement each : List.of(root, root.data(), placed)) {
      each.letOthersPass();
    }
    return placed;
  }

  /** Returns the digest of the files that are the same at each controller. */
  private static String common(ControlFolder files) throws FileException {
    StringBuilder all = new StringBuilder();
    for (ControlFile each :
        List.of(
            ControlFile.CA,
            ControlFile.AGGREGATION_CA,
            ControlFile.API_SERVER_KUBELET_CLIENT,
            ControlFile.FRONT_PROXY_CLIENT,
            ControlFile.SERVICE_ACCOUNT,
            ControlFile.SERVICE_ACCOUNT_PUBLIC,
            ControlFile.ENCRYPTION,
            ControlFile.CONTROLLER_MANAGER,
            ControlFile.CONTROLLER_MANAGER_CLIENT,
            ControlFile.SCHEDULER,
            ControlFile.SCHEDULER_CLIENT)) {
      String text = files.read(each).orElseThrow();
      all.append(each).append('=').append(Integer.toHexString(text.hashCode())).append(',');
    }
    return all.toString();
  }

  /** The whole control plane of this process. */
  private final class Plane implements AutoCloseable {
    private final Root root = Root.at(folder.resolve("state"));
    private final ProcessManager.OpenManager processes =
        ProcessManager.open(folder.resolve("processes"), logs);
    private final SupervisionTree tree = SupervisionTree.open(logs);
    private final HealthTable health = HealthTable.open(tree);
    private Optional<ControlPlane> running = Optional.empty();

    Plane() throws IOException {
      Thread.startVirtualThread(this::note);
    }

    /** Records each condition that is worse than a wait, except {@link #SILENT}. */
    private void note() {
      try (Watcher<List<HealthStatus>> watcher = health.all().watch()) {
        while (true) {
          watcher.get().stream()
              .flatMap(each -> each.conditions().stream())
              .filter(each -> TOLD.contains(each.level()) && !each.code().equals(SILENT))
              .forEach(each -> seen.add(each.toString()));
        }
      } catch (InterruptedException ended) {
        Thread.currentThread().interrupt();
      }
    }

    String run(Instant at) throws Exception {
      ControlPlane plane =
          new ControlPlane(
              ControlHarness.settings(programs),
              new ControlParts(
                  new MutableValue<>(member),
                  new MutableValue<NetworkStatus>(new NetworkStatus.Up(address)),
                  declared -> folder(root, declared),
                  processes,
                  health,
                  Optional::empty),
              OrganState.NONE);
      running = Optional.of(plane);
      await(at);
      tree.organ("roles").run("plane", plane::run);
      Await.value(plane.access(), Optional::isPresent, PATIENCE, "the API server");
      Await.value(
          tree.runnables(),
          now ->
              now.stream().allMatch(ControlHarness::works)
                  && KubernetesPrograms.ofController().stream()
                      .allMatch(each -> processes.find(each).isPresent()),
          PATIENCE,
          "all programs");
      return common(new ControlFolder(folder(root, ControlFolder.FOLDER)));
    }

    /**
     * Returns conditions, deaths of runnables and warnings; not the lines of the programs' own
     * logs.
     */
    String errors() {
      for (RunnableStatus each : tree.runnables().peek().orElse(List.of())) {
        if (each.restarts() > 0 || !each.lastError().isEmpty()) {
          seen.add(each.dn() + " died: " + each.lastError());
        }
      }
      try (LogReader reader =
          logs.read(
              LogQuery.of("root").withChildren().minimumSeverity(Severity.WARNING).backlogAll())) {
        reader.backlog().stream()
            .filter(entry -> entry.payload() instanceof LogPayload.Leveled)
            .filter(entry -> !ofProgram(entry))
            .forEach(entry -> seen.add(entry.dn() + ": " + entry.payload()));
      }
      return String.join(" | ", seen).replace('\n', ' ');
    }

    private static boolean ofProgram(LogEntry entry) {
      return KubernetesPrograms.ofController().stream()
          .anyMatch(each -> entry.dn().endsWith("." + each));
    }

    @Override
    public void close() throws IOException {
      tree.close();
      health.close();
      try {
        for (ProcessRecord record : processes.records()) {
          processes.stop(record.name());
        }
        if (running.isPresent()) {
          running.get().end(true);
        }
      } catch (InterruptedException interrupted) {
        throw new IOException("interrupted while stopping the control plane", interrupted);
      }
      processes.close();
    }
  }
}
