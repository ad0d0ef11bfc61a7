package dev.polis.benchmarks;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdTls;
import dev.polis.etcd.KeyValues;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Runs three members of bare etcd with the options of the nodes' etcd, TLS included, on the same
 * disk. Their numbers begin with 0.
 */
final class EtcdUnderTest implements AutoCloseable {

  private static final int MEMBERS = ClusterUnderTest.NODES;

  /** Addresses beside those of the nodes under test. */
  private static final String NETWORK = "127.83.84.";

  private static final int FIRST = 90;
  private static final int CLIENT_PORT = 7833;
  private static final int PEER_PORT = 7834;
  private static final long END_SECONDS = 60;

  /** Short, since the client's pauses grow within a call. */
  static final Duration CALL = Duration.ofMillis(250);

  private static final String KEY = "/up";

  /** Flags that differ from member to member, or name files of a node. */
  private static final Set<String> OWN =
      Set.of(
          "name",
          "data-dir",
          "initial-cluster",
          "initial-cluster-state",
          "initial-cluster-token",
          "listen-client-urls",
          "advertise-client-urls",
          "listen-peer-urls",
          "initial-advertise-peer-urls",
          "listen-client-http-urls",
          "listen-metrics-urls",
          "trusted-ca-file",
          "cert-file",
          "key-file",
          "peer-trusted-ca-file",
          "peer-cert-file",
          "peer-key-file");

  private final Path program;
  private final Path folder;
  private final EtcdTls user;
  private final Ender ender;
  private final Map<Integer, Process> members = new TreeMap<>(); // guarded by this
  private List<String> options = List.of();
  private boolean ended; // guarded by this

  private EtcdUnderTest(Path program, Path folder, EtcdTls user) {
    this.program = program;
    this.folder = folder;
    this.user = user;
    this.ender = Ender.of("bare etcd in " + folder, this::end);
  }

  /** Makes members that were never started, and their certificates. */
  static EtcdUnderTest fresh(Settings settings) throws IOException {
    Path folder = Files.createTempDirectory(settings.work(), "etcd");
    CertificateAuthority authority = CertificateAuthority.create("benchmark");
    Files.writeString(folder.resolve("ca.pem"), Pem.encode(authority.certificate()));
    for (int member = 0; member < MEMBERS; member++) {
      KeyPair pair = Ed25519.generate();
      CertificateTemplate template =
          // The nodes' etcd accepts only peers with the name localhost.
          CertificateTemplate.peer(
              name(member), List.of("localhost"), List.of(InetAddress.ofLiteral(host(member))));
      Files.writeString(folder.resolve(name(member) + "-key.pem"), Pem.encode(pair.getPrivate()));
      Files.writeString(
          folder.resolve(name(member) + ".pem"),
          Pem.encode(authority.issue(template, pair.getPublic())));
    }
    KeyPair pair = Ed25519.generate();
    EtcdTls user =
        new EtcdTls(
            List.of(authority.certificate()),
            pair.getPrivate(),
            List.of(authority.issue(CertificateTemplate.client("client"), pair.getPublic())));
    return new EtcdUnderTest(settings.etcd().resolve("etcd"), folder, user);
  }

  /** Returns the flags of another etcd that its members may share with these. */
  static List<String> options(List<String> arguments) {
    return arguments.stream()
        .filter(argument -> argument.startsWith("--"))
        .filter(argument -> !OWN.contains(argument.substring(2).split("=", 2)[0]))
        .toList();
  }

  private static String name(int member) {
    return "bare-" + member;
  }

  private static String host(int member) {
    return NETWORK + (FIRST + member);
  }

  private static String peer(int member) {
    return "https://%s:%d".formatted(host(member), PEER_PORT);
  }

  private List<String> command(int member) {
    String client = "https://%s:%d".formatted(host(member), CLIENT_PORT);
    String cluster =
        IntStream.range(0, MEMBERS)
            .mapToObj(each -> name(each) + "=" + peer(each))
            .collect(Collectors.joining(","));
    List<String> command =
        new ArrayList<>(
            List.of(
                program.toString(),
                "--name=" + name(member),
                "--data-dir=" + folder.resolve("data").resolve(name(member)),
                "--initial-cluster=" + cluster,
                "--initial-cluster-state=new",
                "--listen-client-urls=" + client,
                "--advertise-client-urls=" + client,
                "--listen-peer-urls=" + peer(member),
                "--initial-advertise-peer-urls=" + peer(member)));
    for (String side : List.of("", "peer-")) {
      command.add("--%strusted-ca-file=%s".formatted(side, folder.resolve("ca.pem")));
      command.add("--%scert-file=%s".formatted(side, folder.resolve(name(member) + ".pem")));
      command.add("--%skey-file=%s".formatted(side, folder.resolve(name(member) + "-key.pem")));
    }
    command.addAll(options);
    return command;
  }

  private synchronized void launch(int member) throws IOException {
    if (ended) {
      throw new IOException("the benchmark ends, and starts no etcd any more");
    }
    ProcessBuilder builder =
        new ProcessBuilder(command(member))
            .redirectErrorStream(true)
            .redirectOutput(
                ProcessBuilder.Redirect.appendTo(folder.resolve(name(member) + ".log").toFile()));
    members.put(member, builder.start());
  }

  /**
   * Starts all members.
   *
   * @param arguments the command line of a node's etcd
   * @return nanoseconds from the start of the first process to an acknowledged write
   */
  long up(List<String> arguments) throws Exception {
    options = options(arguments);
    // etcd makes only the last folder of the path.
    Files.createDirectories(folder.resolve("data"));
    long began = System.nanoTime();
    for (int member = 0; member < MEMBERS; member++) {
      launch(member);
    }
    try (EtcdClient client = client(endpoints())) {
      KeyValues kv = client.kv().within(CALL);
      Repeated.of(_ -> kv.put(KEY, new byte[0])).run(0);
    }
    return System.nanoTime() - began;
  }

  /** Ends all members in order; returns the nanoseconds. */
  long down() throws InterruptedException, IOException {
    long began = System.nanoTime();
    List<Process> all = running();
    all.forEach(Process::destroy);
    for (Process member : all) {
      if (!member.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("a member of bare etcd did not end; its log is in " + folder);
      }
    }
    return System.nanoTime() - began;
  }

  /** Deletes the data of the stopped members; the next start makes another cluster. */
  synchronized void clear() throws IOException {
    members.clear();
    NodeUnderTest.delete(folder.resolve("data"));
  }

  private synchronized List<Process> running() {
    return List.copyOf(members.values());
  }

  long pid(int member) {
    return running().get(member).pid();
  }

  EtcdEndpoint endpoint(int member) {
    return EtcdEndpoint.of(host(member) + ":" + CLIENT_PORT);
  }

  List<EtcdEndpoint> endpoints() {
    return IntStream.range(0, MEMBERS).mapToObj(this::endpoint).toList();
  }

  /** Opens a new connection to some members. */
  EtcdClient client(List<EtcdEndpoint> endpoints) {
    return EtcdClient.connect(EtcdAccess.tls(endpoints, user));
  }

  /**
   * Returns the place of the member that leads among those of a client; empty if none says so.
   *
   * @param endpoints those of the client
   */
  static OptionalInt leader(EtcdClient client, List<EtcdEndpoint> endpoints)
      throws InterruptedException {
    for (int member = 0; member < endpoints.size(); member++) {
      try {
        if (client.admin().status(endpoints.get(member)).isLeader()) {
          return OptionalInt.of(member);
        }
      } catch (EtcdException down) {
        // Another member may answer.
        continue;
      }
    }
    return OptionalInt.empty();
  }

  /** Kills a member; returns the time. */
  long lose(int member) {
    Process lost = running().get(member);
    long since = System.nanoTime();
    lost.destroyForcibly();
    return since;
  }

  /** Starts a lost member again; returns the nanoseconds until it answers a read by quorum. */
  long comeBack(int member) throws Exception {
    running().get(member).waitFor();
    long began = System.nanoTime();
    launch(member);
    try (EtcdClient client = client(List.of(endpoint(member)))) {
      KeyValues kv = client.kv().within(CALL);
      Repeated.of(_ -> kv.get(KEY)).run(0);
    }
    return System.nanoTime() - began;
  }

  private void end() throws IOException, InterruptedException {
    synchronized (this) {
      ended = true;
    }
    List<Process> all = running();
    all.forEach(Process::destroyForcibly);
    for (Process member : all) {
      member.waitFor();
    }
    NodeUnderTest.delete(folder);
  }

  @Override
  public void close() throws IOException {
    ender.close();
  }
}
