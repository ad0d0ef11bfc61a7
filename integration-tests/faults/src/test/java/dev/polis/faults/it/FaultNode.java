package dev.polis.faults.it;

import dev.polis.ctl.Ctl;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdTls;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.LastLines;
import dev.polis.fixtures.NodeProcesses;
import dev.polis.fixtures.TestPki;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiBackend;
import dev.polis.pki.PkiStore;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.Node;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;

/**
 * Runs a node of the shipped distribution, with an owner, and offers all that a test needs of it.
 */
final class FaultNode implements AutoCloseable {

  static final int CURATOR = 7835;
  static final int DEBUG = 7837;
  static final int MANAGEMENT = 7839;
  static final List<Integer> RPC_PORTS = List.of(CURATOR, MANAGEMENT, DEBUG);
  static final int METRICS = 7840;
  static final int ETCD_CLIENTS = 7833;
  static final int ETCD_PEERS = 7834;

  /** A node is HOME within a few seconds; shared machines are several times slower. */
  static final Duration PATIENCE = Duration.ofSeconds(180);

  private static final int CALL_SECONDS = 30;

  private static final int LINES_OF_A_REPORT = 10;

  private final Distribution distribution = Distribution.built();
  private final List<ManagedChannel> channels = new CopyOnWriteArrayList<>();
  private final NodeProcesses processes;
  private final Path state;
  private final String address;
  private final Process process;
  private final UserCredentials owner;
  private final NodeCredentials credentials;
  // Null until the first call with this identity.
  private RpcClients otherNode;
  // Null until the first request for the state.
  private EtcdClient records;

  private FaultNode(Path state, String address, List<String> options) throws Exception {
    this.state = state;
    this.processes = new NodeProcesses(state);
    this.address = address;
    Files.createDirectories(state);
    ctlHere("params", "make", "--owner=" + state.resolve("owner"), "--to=" + parameters())
        .requireSuccess("no parameters");
    process = start(options);
    try {
      awaitHome();
      ctlHere("takeownership").requireSuccess("takeownership");
      owner =
          UserCredentials.fromPem(
              read("owner/owner-key.pem"), read("owner/owner.pem"), read("owner/ca.pem"));
      Path own = Path.of("data/node/credentials");
      credentials =
          NodeCredentials.fromPem(
              read(own.resolve("cert-key.pem")),
              read(own.resolve("cert.pem")),
              read(own.resolve("ca.pem")));
    } catch (Exception | Error failed) {
      close();
      throw failed;
    }
  }

  /** Starts a new node, waits until it is home, and takes ownership of it. */
  static FaultNode home(Path state, String address, String... options) throws Exception {
    return new FaultNode(state, address, List.of(options));
  }

  private Path parameters() {
    return state.resolve("owner/parameters.json");
  }

  private String read(Object file) throws IOException {
    return Files.readString(state.resolve(file.toString()));
  }

  private Process start(List<String> options) throws Exception {
    List<String> command =
        distribution.launcher(
            "run",
            "--state=" + state,
            "--address=" + address,
            "--etcd=" + EtcdBinary.folder(),
            "--security=insecure",
            "--parameters=" + parameters());
    command.addAll(options);
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(output().toFile())
        .start();
  }

  private Path output() {
    return state.resolve("output.txt");
  }

  /** Runs the operator's command line against this node, in this process. */
  Finished ctlHere(String... arguments) {
    List<String> line =
        new ArrayList<>(List.of("--config=" + state.resolve("no-contexts"), "--state=" + state));
    line.addAll(List.of(arguments));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        Ctl.run(
            line.toArray(String[]::new), new PrintWriter(out, true), new PrintWriter(err, true));
    return new Finished(code, out.toString(), err.toString());
  }

  private void awaitHome() throws Exception {
    Await.until(
        PATIENCE,
        "the node in " + state + " to be home",
        () -> {
          requireAlive();
          return Files.exists(state.resolve("ephemeral/launcher/home"));
        });
  }

  // ---- properties

  String address() {
    return address;
  }

  String id() {
    return credentials.id().text();
  }

  /** Returns the public keys that the node knows: its own, its cluster's and its owner's. */
  List<byte[]> keys() {
    return List.of(
        Ed25519.raw(credentials.publicKey()),
        Ed25519.raw(credentials.ca().issuing().getPublicKey()),
        Ed25519.raw(owner.tls().certificate().getPublicKey()));
  }

  long pid() {
    return process.pid();
  }

  ProcessHandle handle() {
    return process.toHandle();
  }

  /** Fails with the node's last lines if it has ended. */
  void requireAlive() throws IOException {
    if (!process.isAlive()) {
      throw new AssertionError(
          "the node has ended with %d; its last lines:%n%s"
              .formatted(process.exitValue(), lastLines()));
    }
  }

  /** Returns its output; its log has more. */
  String said() throws IOException {
    return Files.readString(output(), StandardCharsets.UTF_8);
  }

  /**
   * Shows the end of the output, which has the reason of a node's end, since a report shows few
   * lines.
   */
  private String lastLines() throws IOException {
    return LastLines.of(said(), LINES_OF_A_REPORT);
  }

  /** Returns the node's running etcd, or nothing between two of them. */
  List<ProcessHandle> etcd() {
    return processes.of("etcd");
  }

  /**
   * Returns the current threads, descriptors and memory of the node, after a garbage collection.
   */
  Footprint footprint() throws Exception {
    Path dump = state.resolve("threads.txt");
    String said =
        NodeProcesses.jcmd(
            pid(), "GC.run", "GC.heap_info", "Thread.dump_to_file -overwrite " + dump);
    return Footprint.of(pid(), said, virtualThreads(dump));
  }

  /**
   * Waits until the node has released the resources that it took since then. Allows a few threads
   * and descriptors for pools that grow to their size, 16 MiB of heap for logs and counters, and
   * memory that the process's allocators keep.
   */
  void awaitNoMoreThan(Footprint before) throws Exception {
    awaitNoMoreThan(before, Footprint.OF_A_FRESH_NODE_KIB);
  }

  /**
   * Does the same with another limit.
   *
   * @param residentKib the memory that the kernel may count in addition for the process
   */
  void awaitNoMoreThan(Footprint before, int residentKib) throws Exception {
    AtomicReference<Footprint> last = new AtomicReference<>(before);
    Await.until(
        PATIENCE,
        "the node to hold no more than before",
        () -> {
          requireAlive();
          last.set(footprint());
          return last.get().isWithin(before, residentKib);
        },
        () -> "%s before, %s now".formatted(before, last.get()));
    System.out.printf("before %s%nafter  %s%n", before, last.get());
  }

  private static long virtualThreads(Path dump) throws IOException {
    try (var lines = Files.lines(dump)) {
      return lines.filter(line -> line.startsWith("#") && line.contains("virtual")).count();
    }
  }

  // ---- connections

  RpcClients asOwner() {
    return RpcClients.authenticated(owner.tls(), RpcTrust.cluster(owner.ca()));
  }

  RpcClients asNode() {
    return RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(credentials.ca()));
  }

  /** Returns clients with a certificate of the same name from another cluster. */
  RpcClients asForeigner() {
    KeyPair pair = Ed25519.generate();
    X509Certificate certificate =
        CertificateAuthority.create("another cluster").issueUser(owner.user(), pair.getPublic());
    return RpcClients.authenticated(
        TlsIdentity.of(pair.getPrivate(), certificate), RpcTrust.cluster(credentials.ca()));
  }

  RpcClients asSelfSigned() {
    return RpcClients.ephemeral(Ed25519.generate(), RpcTrust.cluster(credentials.ca()));
  }

  /**
   * Returns clients with a self-signed certificate that has neither subject nor issuer, as Go
   * clients make it.
   */
  RpcClients asNameless() throws CertificateException {
    KeyPair pair = Ed25519.generate();
    TlsContexts.clientParameters(); // this class makes such certificates readable
    X509Certificate certificate =
        (X509Certificate)
            CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(TestPki.nameless(pair, "Ed25519")));
    return RpcClients.authenticated(
        TlsIdentity.of(pair.getPrivate(), certificate), RpcTrust.cluster(credentials.ca()));
  }

  /** Returns clients of another node, which the cluster's authority certified just now. */
  RpcClients asOtherNode(KeyPair pair) throws Exception {
    return RpcClients.authenticated(otherNode(pair), RpcTrust.cluster(credentials.ca()));
  }

  private TlsIdentity otherNode(KeyPair pair) throws Exception {
    NodeId other = NodeId.of(pair.getPublic());
    X509Certificate certificate =
        withAuthority(
            authority ->
                authority.ensureExternal(
                    "node-" + other, CertificateTemplate.node(other), pair.getPublic()));
    return TlsIdentity.of(pair.getPrivate(), certificate);
  }

  /**
   * Returns clients of one other node, which the cluster's authority certifies at the first call.
   */
  synchronized RpcClients asOtherNode() {
    if (otherNode == null) {
      try {
        otherNode = asOtherNode(Ed25519.generate());
      } catch (Exception failed) {
        throw new AssertionError("no node can be certified", failed);
      }
    }
    return otherNode;
  }

  /** Returns the identity of a new other node. */
  private TlsIdentity certified() {
    try {
      return otherNode(Ed25519.generate());
    } catch (Exception failed) {
      throw new AssertionError("no node can be certified", failed);
    }
  }

  /** Revokes the certificates of such a node. */
  void revoke(KeyPair pair) throws Exception {
    withAuthority(authority -> authority.revoke("node-" + NodeId.of(pair.getPublic())));
  }

  /** Returns the state that a call may change. */
  FaultState state() throws Exception {
    if (records == null) {
      records = EtcdClient.connect(records());
    }
    return FaultState.of(records, state);
  }

  private interface OfAuthority<T> {
    T ask(PkiAuthority authority) throws InterruptedException;
  }

  /** Uses the cluster's authority where the curator keeps it. */
  private <T> T withAuthority(OfAuthority<T> question) throws Exception {
    try (EtcdClient etcd = EtcdClient.connect(records())) {
      PkiStore store = new PkiStore(PkiBackend.etcd(etcd, etcd.kv(), "/cluster-pki/"));
      return question.ask(
          store.ensureAuthority("cluster-ca", CertificateTemplate.authority("Polis cluster CA")));
    }
  }

  /** The curator's keys, with those of etcd's root user. */
  private EtcdAccess records() throws IOException {
    EtcdTls tls =
        new EtcdTls(
            List.of(Pem.certificate(read("data/etcd/pki/ca.pem"))),
            Pem.privateKey(read("data/etcd/pki/root-key.pem")),
            List.of(Pem.certificate(read("data/etcd/pki/root.pem"))));
    return EtcdAccess.tls(List.of(EtcdEndpoint.of(address + ":" + ETCD_CLIENTS)), tls)
        .sub("curator");
  }

  RpcClients asNobody() {
    return RpcClients.anonymous(RpcTrust.cluster(credentials.ca()));
  }

  /** Returns the same credentials as a TLS context, for clients without gRPC. */
  SSLContext tls(FuzzCredential as) {
    TlsTrust trust = TlsTrust.anyNode(TlsTrust.Source.of(credentials.ca()));
    return switch (as) {
      case OWNER -> TlsContexts.context(TlsKeys.fixed(owner.tls()), trust);
      case NODE -> TlsContexts.context(TlsKeys.fixed(credentials.tls()), trust);
      case NOBODY -> TlsContexts.anonymous(trust);
      case OTHER_NODE -> TlsContexts.context(TlsKeys.fixed(certified()), trust);
      case FOREIGN, SELF_SIGNED, PLAINTEXT -> throw new AssertionError("no context for " + as);
    };
  }

  ManagedChannel dial(RpcClients as, int port) {
    return keep(as.dial(new InetSocketAddress(address, port)));
  }

  ManagedChannel dialDebug() {
    return keep(RpcClients.plaintext(new InetSocketAddress(address, DEBUG)));
  }

  private ManagedChannel keep(ManagedChannel channel) {
    channels.add(channel);
    return channel;
  }

  /** Waits until the cluster reports the node as healthy. */
  void awaitHealthy() throws Exception {
    ManagedChannel channel = dial(asOwner(), CURATOR);
    try {
      Await.until(
          PATIENCE,
          "the node to be HEALTHY",
          () -> {
            requireAlive();
            return health(channel) == Node.Health.HEALTH_HEALTHY;
          });
    } finally {
      channel.shutdownNow();
    }
  }

  private static Node.Health health(ManagedChannel channel) throws InterruptedException {
    try {
      var nodes =
          ManagementGrpc.newBlockingV2Stub(channel)
              .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
              .getNodes(GetNodesRequest.getDefaultInstance());
      Node first = nodes.read();
      nodes.cancel("one is enough", null);
      return first == null ? Node.Health.HEALTH_UNKNOWN : first.getHealth();
    } catch (StatusException notNow) {
      return Node.Health.HEALTH_UNKNOWN;
    }
  }

  @Override
  public void close() {
    channels.forEach(ManagedChannel::shutdownNow);
    if (records != null) {
      records.close();
    }
    try {
      Finished.of(distribution.launcher("stop", "--state=" + state), Map.of(), PATIENCE)
          .requireSuccess("polis down");
    } catch (Exception failed) {
      throw new AssertionError("the node in " + state + " cannot be cleared away", failed);
    } finally {
      process.destroyForcibly();
    }
  }
}
