package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.CuratorLocks;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.network.NetworkStatus;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdError;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdPermission;
import dev.polis.etcd.EtcdPermissionException;
import dev.polis.etcd.EtcdRefusedException;
import dev.polis.etcd.EtcdTls;
import dev.polis.etcd.EtcdUnavailableException;
import dev.polis.etcd.KeyRange;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.LiveTree;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.RunningProcess;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.wire.curator.stored.LeaderElectionValue;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs the organ with the real etcd. */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
class ConsensusTest {

  private static final byte[] BAR = "bar".getBytes(StandardCharsets.UTF_8);

  private ConsensusHarness harness;

  @BeforeEach
  void open() throws IOException {
    harness = new ConsensusHarness();
  }

  @AfterEach
  void close() throws Exception {
    harness.close();
  }

  @Test
  @DisplayName("CON-01 after the start etcd's metrics can be read within 10 s")
  void con01_metricsAnswer() throws Exception {
    MachineSpeed speed = MachineSpeed.measure();
    long begin = System.nanoTime();
    Instance instance = harness.instance();
    instance.startNew();

    String metrics = metrics(instance);

    Duration took = Duration.ofNanos(System.nanoTime() - begin);
    speed.assertWithin("the metrics were there", Duration.ofSeconds(10), took);
    // etcd reports the quota of the settings.
    assertTrue(
        metrics.contains("etcd_server_quota_backend_bytes 2.147483648e+09"),
        () -> "quota in " + metrics.lines().filter(l -> l.contains("quota")).toList());
  }

  @Test
  @DisplayName(
      "etcd listens with TLS on the node's address, and without TLS at a private socket only")
  void plainTextIsPrivate() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();

    List<String> open = tcpListenersOf(instance.pid());
    Path socket = harness.root.ephemeral().consensus().path().resolve("metrics.sock");

    String here = harness.address.getHostAddress();
    assertEquals(List.of(here + ":7833", here + ":7834"), open);
    assertTrue(Files.exists(socket), socket + " is missing");
    assertEquals(
        "rwx------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(socket.getParent())));
  }

  @Test
  @DisplayName("metrics work with a long path of the state directory, and for a second instance")
  void longPath() throws Exception {
    harness.close();
    // Twice as long as the address of a unix socket may be.
    harness = new ConsensusHarness("long-name-".repeat(20));
    Instance first = harness.instance();
    first.startNew();
    assertTrue(metrics(first).contains("etcd_server_has_leader 1"), () -> metrics(first));

    Instance second = harness.instance();
    assertInstanceOf(MetricsAnswer.Unavailable.class, second.consensus.scrape());
    second.startExisting();

    assertTrue(metrics(second).contains("etcd_server_has_leader 1"), () -> metrics(second));
  }

  @Test
  @DisplayName("without etcd the metrics page gives the reason")
  void noMetrics() throws Exception {
    Instance instance = harness.instance();
    MetricsAnswer before = instance.consensus.scrape();
    instance.startNew();
    instance.consensus.stop();

    assertEquals(
        new MetricsAnswer.Unavailable(
            "this node runs no member of consensus; ask a node that runs one"),
        before);
    assertEquals(before, instance.consensus.scrape());
  }

  private static String metrics(Instance instance) {
    MetricsAnswer answer = instance.consensus.scrape();
    return switch (answer) {
      case MetricsAnswer.Page(String type, byte[] body) -> {
        assertTrue(type.startsWith("text/plain; version=0.0.4"), type);
        yield new String(body, StandardCharsets.UTF_8);
      }
      case MetricsAnswer.Unavailable(String reason) ->
          throw new AssertionError("no metrics: " + reason);
    };
  }

  /** Returns the TCP addresses on which a process listens, as the kernel lists them, sorted. */
  private static List<String> tcpListenersOf(long pid) throws IOException {
    List<String> sockets = new ArrayList<>();
    try (DirectoryStream<Path> descriptors =
        Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
      for (Path descriptor : descriptors) {
        sockets.add(Files.readSymbolicLink(descriptor).toString());
      }
    }
    List<String> found = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of("/proc/net/tcp"))) {
      String[] columns = line.strip().split(" +");
      // Columns of proc(5): local address, state (0A is LISTEN), inode.
      if (columns[3].equals("0A") && sockets.contains("socket:[" + columns[9] + "]")) {
        found.add(address(columns[1]));
      }
    }
    return found.stream().sorted().toList();
  }

  /** Turns 0501007F:1E99 into 127.0.1.5:7833. */
  private static String address(String hex) {
    byte[] bytes = HexFormat.of().parseHex(hex, 0, 8);
    return "%d.%d.%d.%d:%d"
        .formatted(
            bytes[3] & 0xff,
            bytes[2] & 0xff,
            bytes[1] & 0xff,
            bytes[0] & 0xff,
            HexFormat.fromHexDigits(hex, 9, 13));
  }

  @Test
  @DisplayName("CON-02 bootstrap from empty: put and get of /foo by the curator's access works")
  void con02_bootstrapFromEmpty() throws Exception {
    Instance instance = harness.instance();
    assertInstanceOf(
        ConsensusStatus.Stopped.class, instance.consensus.status().peek().orElseThrow());

    ConsensusStatus.Running running = instance.startNew();

    assertEquals(harness.identity.node().text(), running.memberName());
    assertEquals(
        List.of("https://" + harness.address.getHostAddress() + ":7833"), running.endpoints());
    assertEquals(running.memberId(), instance.consensus.memberInfo().id());
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      curator.kv().put("/foo", BAR);
      assertEquals("bar", curator.kv().get("/foo").orElseThrow().text());
    }
    try (EtcdClient root = root(instance)) {
      assertEquals("bar", root.kv().get("namespaced:curator//foo").orElseThrow().text());
    }
  }

  @Test
  @DisplayName("CON-03 restart from disk: data kept, CA identical, the status shows the stop")
  void con03_restartFromDisk() throws Exception {
    Instance first = harness.instance();
    ConsensusStatus.Running before = first.startNew();
    put(first, "/foo");
    byte[] ca = Files.readAllBytes(harness.files().ca().path());
    RunningProcess etcd = RunningProcess.of(first.pid());

    first.consensus.stop();

    assertInstanceOf(ConsensusStatus.Stopped.class, first.consensus.status().peek().orElseThrow());
    assertFalse(etcd.runs(), "etcd lives on");
    ConsensusStatus.Running after = harness.instance().startExisting();
    assertEquals(before, after);
    assertArrayEquals(ca, Files.readAllBytes(harness.files().ca().path()));
    assertArrayEquals(ca, Files.readAllBytes(new EtcdFiles(harness.root).peerPki().ca().path()));
    assertStored("/foo");
  }

  @Test
  @DisplayName("CON-05 etcd's JSON log becomes entries of root.consensus.etcd")
  void con05_logEndToEnd() throws Exception {
    harness.instance().startNew();

    String message = "configuring peer listeners, listen-peer-urls: [\"https://%s:7834\"]";
    String expected = message.formatted(harness.address.getHostAddress());
    Await.until(
        ConsensusHarness.PATIENCE,
        "\"" + expected + "\" in the log tree",
        () -> harness.etcdLog().stream().anyMatch(e -> e.message().equals(expected)));
    LogPayload.Leveled entry =
        harness.etcdLog().stream()
            .filter(e -> e.message().equals(expected))
            .findFirst()
            .orElseThrow();

    assertEquals(Severity.INFO, entry.severity());
    assertTrue(entry.location().startsWith("etcd.go:"), entry.location());
    assertTrue(entry.timestamp().isAfter(Instant.now().minus(Duration.ofMinutes(2))));
    assertFalse(
        harness.etcdLog().stream().anyMatch(e -> e.message().startsWith("Log line unparseable")),
        () -> "unparseable lines in " + harness.etcdLog());
  }

  @Test
  @DisplayName("etcd itself reports compaction, quota and timing as configured")
  void flagsAreActive() throws Exception {
    harness.instance().startNew();

    String said = Files.readString(harness.root.ephemeral().processes().path().resolve("etcd.log"));

    for (String flag :
        List.of(
            "\"auto-compaction-mode\":\"periodic\"",
            "\"auto-compaction-retention\":\"1h0m0s\"",
            "\"quota-backend-bytes\":2147483648",
            "\"snapshot-count\":10000",
            "\"heartbeat-interval\":\"20ms\"",
            "\"election-timeout\":\"100ms\"",
            "client-cert-auth = true")) {
      assertTrue(said.contains(flag), () -> flag + " in " + said);
    }
    // etcd 3.6 has a feature gate in place of the flag.
    assertTrue(
        said.contains("\"initial-corrupt-check\":true")
            || said.contains("\"feature-gates\":\"InitialCorruptCheck=true\""),
        said);
    assertFalse(said.contains("http and grpc server on single port"), said);
  }

  @Test
  @DisplayName(
      "CON-06 namespaces: no ':' in a name, a/b does not see c, no administration from within")
  void con06_namespaces() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();

    EtcdAccess access = instance.consensus.access("curator");
    assertThrows(IllegalArgumentException.class, () -> access.sub("a:b"));
    try (EtcdClient inner = EtcdClient.connect(access.sub("a").sub("b"));
        EtcdClient other = EtcdClient.connect(access.sub("c"))) {
      other.kv().put("/foo", BAR);
      inner.kv().put("/mine", BAR);

      assertTrue(inner.kv().get("/foo").isEmpty());
      assertEquals(1, inner.kv().range(KeyRange.all()).keys().size());
      assertThrows(IllegalStateException.class, inner::admin);
      // The neighbour's name begins with this namespace's name; etcd's users must still separate
      // them.
      EtcdAccess neighbour =
          new EtcdAccess(access.endpoints(), access.security(), EtcdNamespace.of("curator0"));
      try (EtcdClient outer = EtcdClient.connect(neighbour)) {
        assertThrows(EtcdPermissionException.class, () -> outer.kv().get("/foo"));
      }
    }
  }

  @Test
  @DisplayName(
      "a user, role or right of etcd that an operator deletes, and authentication that an operator switches off, is made again, and health names it")
  void rightsAreMadeAgain() throws Exception {
    Instance instance = harness.instance(ConsensusHarness.maintainedOften());
    instance.startNew();
    KeyRange range = KeyRange.prefix(EtcdNamespace.of("curator").prefix());
    // Narrows one permission: the number of permissions stays the same.
    EtcdPermission less = new EtcdPermission(EtcdPermission.Access.READ, range);
    try (EtcdClient root = EtcdClient.connect(harness.asRoot(instance))) {
      made(instance, "the user kubernetes", () -> root.admin().deleteUser("kubernetes"));
      made(instance, "the role kube-apiserver", () -> root.admin().deleteRole("kube-apiserver"));
      made(instance, "a right of the role curator", () -> root.admin().grant("curator", less));
      made(instance, "authentication, without", () -> root.admin().disableAuth());
    }
    put(instance, "/again");
  }

  @Test
  @DisplayName(
      "etcd's CA that a client deletes with all keys is stored again, and no other one is made")
  void authorityIsStoredAgain() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    byte[] before;
    try (EtcdClient root = EtcdClient.connect(harness.asRoot(instance))) {
      EtcdClient records = root.sub(EtcdAuthority.NAMESPACE);
      before = records.kv().get(EtcdAuthority.CERTIFICATE).orElseThrow().value();
      records.kv().delete(KeyRange.all());
      Await.until(
          "etcd to have a CA again", () -> records.kv().get(EtcdAuthority.CERTIFICATE).isPresent());
      assertArrayEquals(before, records.kv().get(EtcdAuthority.CERTIFICATE).orElseThrow().value());
    }
  }

  /** Deletes or narrows a part of etcd's users and rights. */
  private interface Hand {
    void takes() throws InterruptedException;
  }

  private void made(Instance instance, String what, Hand hand) throws Exception {
    hand.takes();
    Await.until(
        "health to name " + what,
        () -> rightsChanged(instance).filter(each -> each.reason().contains(what)).isPresent());
    HealthCondition condition = rightsChanged(instance).orElseThrow();
    assertEquals(HealthLevel.DEGRADED, condition.level());
    assertTrue(
        condition.remedy().contains(harness.files().rootKey().path().toString()),
        condition::remedy);
  }

  private static Optional<HealthCondition> rightsChanged(Instance instance) {
    return condition(instance, "etcd-rights-changed");
  }

  @Test
  @DisplayName(
      "CON-08 unknown users, and access before there is a member, are refused with the reason")
  void con08_refusals() throws Exception {
    Instance instance = harness.instance();

    ConsensusException early =
        assertThrows(ConsensusException.class, () -> instance.consensus.access("curator"));
    ConsensusException unknown =
        assertThrows(ConsensusException.class, () -> instance.consensus.access("kubelet"));
    ConsensusException root =
        assertThrows(ConsensusException.class, () -> instance.consensus.access("root"));

    assertTrue(
        early.getMessage().contains("does not serve yet: consensus is stopped"), early::getMessage);
    assertEquals(
        "unknown consensus user \"kubelet\"; known are curator, kubernetes, kube-apiserver",
        unknown.getMessage());
    assertTrue(root.getMessage().startsWith("unknown consensus user \"root\""), root::getMessage);
    assertThrows(ConsensusException.class, instance.consensus::memberInfo);
    assertThrows(ConsensusException.class, instance.consensus::overview);
  }

  @Test
  @DisplayName(
      "CON-08 calls fail while etcd does not answer, and succeed once it does, with access from before and from meanwhile")
  void con08_split() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    EtcdAccess meanwhile;
    try (EtcdClient before = EtcdClient.connect(instance.consensus.access("curator"))) {
      before.kv().put("/foo", BAR);
      signal("STOP", instance.pid());
      try {
        assertThrows(
            EtcdUnavailableException.class,
            () -> before.kv().within(Duration.ofSeconds(2)).get("/foo"));
        meanwhile = instance.consensus.access("curator");
      } finally {
        signal("CONT", instance.pid());
      }

      assertEquals("bar", before.kv().get("/foo").orElseThrow().text());
    }
    try (EtcdClient client = EtcdClient.connect(meanwhile)) {
      assertEquals("bar", client.kv().get("/foo").orElseThrow().text());
    }
  }

  @Test
  @DisplayName("health names an etcd that a signal stopped within 10 s, until it continues")
  void stoppedIsNamed() throws Exception {
    MachineSpeed speed = MachineSpeed.measure();
    Instance instance = harness.instance();
    instance.startNew();
    long pid = instance.pid();
    long begin = System.nanoTime();

    signal("STOP", pid);
    Await.until(
        ConsensusHarness.PATIENCE, "health names etcd", () -> silence(instance).isPresent());
    Duration took = Duration.ofNanos(System.nanoTime() - begin);
    HealthCondition named = silence(instance).orElseThrow();
    signal("CONT", pid);

    speed.assertWithin("health named etcd", Duration.ofSeconds(10), took);
    assertEquals(HealthLevel.DOWN, named.level());
    assertTrue(
        named.reason().startsWith("etcd (pid %d) has not answered for ".formatted(pid)),
        named::reason);
    assertTrue(named.reason().contains("a signal has stopped it (state T)"), named::reason);
    assertTrue(named.remedy().contains("started again after 40 s"), named::remedy);
    Await.until(
        ConsensusHarness.PATIENCE, "health is well again", () -> silence(instance).isEmpty());
    assertEquals(pid, instance.pid());
  }

  @Test
  @Tag("full")
  @DisplayName("an etcd that stays stopped is ended and started again, with its data")
  void stoppedIsReplaced() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    put(instance, "/foo");
    long before = instance.pid();

    signal("STOP", before);

    Await.until(
        Duration.ofSeconds(80),
        "another etcd",
        () -> instance.processes.find("etcd").filter(etcd -> etcd.pid() != before).isPresent());
    instance.await(ConsensusStatus.Running.class);
    try (EtcdClient client = EtcdClient.connect(instance.consensus.access("curator"))) {
      assertArrayEquals(BAR, client.kv().get("/foo").orElseThrow().value());
    }
    Await.until(ConsensusHarness.PATIENCE, "health is well", () -> silence(instance).isEmpty());
  }

  @Test
  @DisplayName("an etcd that waits for a file which another process has locked names that process")
  void locked() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    long before = instance.pid();
    Path database = harness.files().etcd().data().path().resolve("member/snap/db");
    // It waits for etcd's lock, so it has it before the next etcd.
    Process holder =
        new ProcessBuilder("flock", "--no-fork", database.toString(), "sleep", "600").start();
    try {
      Await.until(
          ConsensusHarness.PATIENCE,
          "a process that waits for the lock",
          () ->
              Files.readString(Path.of("/proc/locks"))
                  .contains("-> FLOCK  ADVISORY  WRITE " + holder.pid()));
      signal("KILL", before);

      Await.until(
          ConsensusHarness.PATIENCE,
          "health names the process",
          () -> condition(instance, "etcd-locked").isPresent());
      HealthCondition named = condition(instance, "etcd-locked").orElseThrow();
      assertEquals(HealthLevel.DOWN, named.level());
      assertEquals(
          "etcd waits for its file %s, which process %d (sleep 600) holds locked"
              .formatted(database, holder.pid()),
          named.reason());
    } finally {
      holder.destroyForcibly().waitFor();
    }
    instance.await(ConsensusStatus.Running.class);
    Await.until(
        ConsensusHarness.PATIENCE,
        "health is well again",
        () -> condition(instance, "etcd-locked").isEmpty());
  }

  private static Optional<HealthCondition> silence(Instance instance) {
    return condition(instance, "etcd-silent");
  }

  private static Optional<HealthCondition> condition(Instance instance, String code) {
    return instance.health.all().peek().orElseThrow().stream()
        .flatMap(status -> status.conditions().stream())
        .filter(condition -> condition.code().equals(code))
        .findFirst();
  }

  private static void signal(String name, long pid) throws IOException, InterruptedException {
    int code = new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor();
    assertEquals(0, code, "kill -" + name);
  }

  @Test
  @Tag("attack")
  @DisplayName("D-40 a user can neither read nor write another's keys, nor the CA, nor administer")
  void d40_usersAreKeptApart() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    put(instance, "/nodes/secret");
    try (EtcdClient thief = withoutNamespace(instance, "kubernetes")) {
      assertKeptOut(thief);
      assertThrows(EtcdPermissionException.class, () -> thief.kv().get("/registry/secrets/a"));
      thief.kv().put("namespaced:kubernetes/own", BAR);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a stranger gets no answer of etcd, neither as a client nor as a peer")
  void strangersAreKeptOut() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    put(instance, "/nodes/secret");
    KeyPair key = Ed25519.generate();
    CertificateAuthority attacker = CertificateAuthority.create("etcd");
    TlsIdentity root =
        TlsIdentity.of(
            key.getPrivate(), attacker.issue(CertificateTemplate.client("root"), key.getPublic()));
    Path peer = harness.files().etcd().peerPki().certificate().path();
    TlsIdentity member =
        TlsIdentity.of(
            Pem.privateKey(Files.readString(harness.files().etcd().peerPki().key().path())),
            Pem.certificate(Files.readString(peer)));
    // A member gets an answer, so the question itself is valid.
    assertTrue(answers(7834, TlsContexts.context(TlsKeys.fixed(member), TlsTrust.anyKey())));
    for (int port : new int[] {7833, 7834}) {
      for (SSLContext stranger :
          List.of(
              TlsContexts.anonymous(TlsTrust.anyKey()),
              TlsContexts.context(TlsKeys.fixed(root), TlsTrust.anyKey()))) {
        assertFalse(answers(port, stranger), "port " + port);
      }
    }
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      assertArrayEquals(BAR, curator.kv().get("/nodes/secret").get().value());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("the certificate of a user of etcd, even root's, gets no answer as a peer")
  void usersAreNoPeers() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    for (String user : List.of("curator", "kubernetes", "kube-apiserver")) {
      EtcdTls tls =
          assertInstanceOf(EtcdAccess.MutualTls.class, instance.consensus.access(user).security())
              .tls();
      assertKeptFromPeers(user, TlsIdentity.of(tls.key(), tls.chain().getFirst()));
    }
    assertKeptFromPeers(
        "root",
        TlsIdentity.of(
            Pem.privateKey(Files.readString(harness.files().rootKey().path())),
            Pem.certificate(Files.readString(harness.files().root().path()))));
  }

  private void assertKeptFromPeers(String user, TlsIdentity identity) throws Exception {
    SSLContext tls = TlsContexts.context(TlsKeys.fixed(identity), TlsTrust.anyKey());
    assertTrue(answers(7833, tls), user + " is no client");
    assertFalse(answers(7834, tls), user + " is taken for a peer");
  }

  /** Returns whether etcd answers an HTTP request; etcd ends a connection that it refuses. */
  private boolean answers(int port, SSLContext tls) throws IOException {
    try (Socket socket = tls.getSocketFactory().createSocket(harness.address, port)) {
      socket.setSoTimeout((int) ConsensusHarness.PATIENCE.toMillis());
      socket
          .getOutputStream()
          .write("GET /version HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      return socket.getInputStream().read() >= 0;
    } catch (SSLException | SocketException refused) {
      return false;
    }
  }

  @Test
  @DisplayName("D-40 Kubernetes' API server can use its objects in etcd, and nothing else")
  void d40_apiServerIsKeptApart() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    put(instance, "/nodes/secret");
    try (EtcdClient pki = EtcdClient.connect(instance.consensus.access("kubernetes"))) {
      pki.kv().put("/kube-pki/keys/id-ca-privkey.bin", BAR);
    }

    try (EtcdClient server = EtcdClient.connect(instance.consensus.access("kube-apiserver"))) {
      assertKeptOut(server);
      String key = "namespaced:kubernetes//kube-pki/keys/id-ca-privkey.bin";
      assertThrows(EtcdPermissionException.class, () -> server.kv().get(key));
      assertThrows(EtcdPermissionException.class, () -> server.kv().get("compact_rev_keys"));
      server.kv().put("/registry/secrets/default/a", BAR);
      server.kv().put("compact_rev_key", BAR);
      assertArrayEquals(BAR, server.kv().get("/registry/secrets/default/a").get().value());
    }
  }

  private static EtcdClient withoutNamespace(Instance instance, String user) {
    EtcdAccess access = instance.consensus.access(user);
    return EtcdClient.connect(
        new EtcdAccess(access.endpoints(), access.security(), EtcdNamespace.ROOT));
  }

  private static void assertKeptOut(EtcdClient thief) {
    for (String key :
        List.of("namespaced:curator//nodes/secret", "namespaced:etcd-pki/" + EtcdAuthority.KEY)) {
      assertThrows(EtcdPermissionException.class, () -> thief.kv().get(key), key);
      assertThrows(EtcdPermissionException.class, () -> thief.kv().put(key, BAR), key);
      assertThrows(EtcdPermissionException.class, () -> thief.kv().delete(key), key);
    }
    assertThrows(EtcdPermissionException.class, () -> thief.kv().range(KeyRange.all()));
    assertThrows(EtcdPermissionException.class, () -> thief.admin().addUser("mine"));
    assertThrows(EtcdPermissionException.class, () -> thief.admin().disableAuth());
  }

  @Test
  @DisplayName(
      "etcd holds the CA for later members, byte for byte as on the disk, with a revocation list")
  void authorityIsStored() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();

    try (EtcdClient root = root(instance)) {
      var pki = root.sub(EtcdAuthority.NAMESPACE).kv();
      assertArrayEquals(
          Pem.der(Pem.certificate(Files.readString(harness.files().ca().path()))),
          pki.get(EtcdAuthority.CERTIFICATE).orElseThrow().value());
      assertEquals(
          Files.readString(harness.files().caKey().path()),
          Pem.encode(Ed25519.privateKey(pki.get(EtcdAuthority.KEY).orElseThrow().value())));
      assertEquals(
          List.of(),
          List.copyOf(
              Crl.parse(pki.get("/pki/CA-crl.der").orElseThrow().value())
                  .verify(Pem.certificate(Files.readString(harness.files().ca().path())))
                  .serials()));
    }
  }

  @Test
  @DisplayName(
      "an etcd that is killed is started again on its data, and earlier access stays valid")
  void etcdKilled() throws Exception {
    Instance instance = harness.instance();
    ConsensusStatus.Running before = instance.startNew();
    long pid = instance.pid();
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"));
        var watcher = instance.consensus.status().watch()) {
      curator.kv().put("/foo", BAR);
      watcher.get(ConsensusHarness.PATIENCE);

      ConsensusHarness.kill(pid);

      var next =
          watcher.get(
              status -> !(status instanceof ConsensusStatus.Running), ConsensusHarness.PATIENCE);
      assertInstanceOf(ConsensusStatus.Starting.class, next);
      assertEquals(
          before,
          watcher.get(ConsensusStatus.Running.class::isInstance, ConsensusHarness.PATIENCE));
      assertNotEquals(pid, instance.pid());
      assertEquals("bar", curator.kv().get("/foo").orElseThrow().text());
    }
  }

  @Test
  @DisplayName("a second instance adopts etcd with the same PID")
  void adopted() throws Exception {
    Instance first = harness.instance();
    ConsensusStatus.Running before = first.startNew();
    put(first, "/foo");
    long pid = first.pid();

    Instance second = harness.instance();
    ConsensusStatus.Running after = second.startExisting();

    assertEquals(pid, second.pid());
    assertEquals(before, after);
    assertStored("/foo");
    // A repeated startNew: the cluster may not have recorded yet that the bootstrap succeeded.
    assertEquals(pid, pidAfter(harness.instance()));
  }

  private long pidAfter(Instance instance) throws InterruptedException {
    instance.startNew();
    return instance.pid();
  }

  @Test
  @DisplayName("another build of etcd under the same path is started anew, not adopted")
  void upgraded() throws Exception {
    Path copy = Files.createDirectories(harness.root.path().resolve("bin")).resolve("etcd");
    Files.copy(Path.of(ConsensusHarness.etcd(), "etcd"), copy);
    Instance first = harness.instance(with(copy));
    first.startNew();
    put(first, "/foo");
    long pid = first.pid();

    // Replaces the file as a package manager does: the running program keeps the old file.
    Path next = copy.resolveSibling("etcd.new");
    Files.copy(copy, next);
    Files.writeString(next, "another build", StandardOpenOption.APPEND);
    Files.setPosixFilePermissions(next, PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.move(next, copy, StandardCopyOption.REPLACE_EXISTING);
    Instance second = harness.instance(with(copy));
    second.startExisting();

    assertNotEquals(pid, second.pid());
    assertStored("/foo");
  }

  private static ConsensusSettings with(Path etcd) {
    return ConsensusHarness.settings(2L << 30, Duration.ofSeconds(60), etcd.toString());
  }

  @Test
  @DisplayName(
      "a member without its data is refused with the reason, never initialised a second time")
  void dataGone() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    instance.consensus.stop();
    Path data = new EtcdFiles(harness.root).data().path();
    for (Path path : LiveTree.bottomUp(data)) {
      Files.delete(path);
    }

    ConsensusException existing =
        assertThrows(ConsensusException.class, () -> harness.instance().startExisting());
    ConsensusException anew =
        assertThrows(ConsensusException.class, () -> harness.instance().startNew());

    assertTrue(existing.getMessage().contains("is gone: " + data), existing::getMessage);
    assertTrue(
        anew.getMessage().contains("The node does not initialise a member twice"),
        anew::getMessage);
    assertFalse(Files.exists(data), "the data directory was made again");
  }

  @Test
  @DisplayName("a port that is taken is named with the process that has it, and tried again")
  void portTaken() throws Exception {
    Instance instance = harness.instance();
    try (ServerSocket thief = new ServerSocket()) {
      thief.bind(new InetSocketAddress(harness.address, 7833));
      instance.consensus.startNew(harness.identity);

      String reason = instance.await(ConsensusStatus.Failed.class).reason();

      assertTrue(reason.startsWith("etcd ended before it was ready (exit code 1)"), reason);
      assertTrue(
          reason.contains(
              "client.port %s:7833: this node itself has it, with its process %d (java): start the node with another --address, or set dev.polis.consensus.client.port"
                  .formatted(harness.address.getHostAddress(), ProcessHandle.current().pid())),
          reason);
      assertTrue(reason.contains("address already in use"), reason);
      assertThrows(
          ConsensusException.class, () -> instance.consensus.awaitRunning(Duration.ofSeconds(5)));
    }
    instance.await(ConsensusStatus.Running.class);
  }

  @Test
  @DisplayName("a node that moves to another address keeps its member and its data")
  void addressChanges() throws Exception {
    Instance instance = harness.instance();
    ConsensusStatus.Running before = instance.startNew();
    put(instance, "/foo");
    InetAddress other = ConsensusHarness.freshAddress();

    harness.network.set(new NetworkStatus.Waiting("a lease"));
    harness.network.set(new NetworkStatus.Up(other));

    String url = "https://" + other.getHostAddress() + ":7833";
    ConsensusStatus.Running after =
        instance.await(
            ConsensusStatus.Running.class, status -> status.endpoints().equals(List.of(url)));
    assertEquals(before.memberId(), after.memberId());
    assertEquals(
        List.of("https://" + other.getHostAddress() + ":7834"),
        instance.consensus.overview().members().getFirst().peerUrls());
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      assertEquals("bar", curator.kv().get("/foo").orElseThrow().text());
    }
  }

  @Test
  @DisplayName(
      "a copy of a node at another address starts no second member while the original runs, names both addresses, and continues once it has ended")
  void copyStartsNoSecondMember() throws Exception {
    Instance original = harness.instance();
    ConsensusStatus.Running before = original.startNew();
    try (ConsensusHarness other = new ConsensusHarness()) {
      harness.copyTo(other);
      Instance copy = other.instance();
      copy.consensus.startExisting(harness.identity);

      ConsensusStatus.Failed refused = copy.await(ConsensusStatus.Failed.class);
      String reason = refused.reason();
      assertTrue(
          reason.contains("runs at " + harness.address.getHostAddress() + ":7833 already"), reason);
      assertTrue(reason.contains("does not start at " + other.address.getHostAddress()), reason);
      assertTrue(copy.processes.find("etcd").isEmpty(), "no second etcd");
      put(original, "/foo");

      harness.lose();
      assertEquals(before.memberId(), copy.await(ConsensusStatus.Running.class).memberId());
    }
  }

  @Test
  @DisplayName(
      "an original whose own records have the address of its copy, which runs there, ends its etcd")
  void originalEndsBesideItsCopy() throws Exception {
    Instance original = harness.instance();
    long id = Long.parseUnsignedLong(original.startNew().memberId(), 16);
    try (ConsensusHarness other = new ConsensusHarness()) {
      String there = other.address.getHostAddress();
      try (EtcdClient root = EtcdClient.connect(harness.asRoot(original))) {
        root.admin().updatePeerUrls(id, List.of("https://" + there + ":7834"));
      }
      harness.lose();
      harness.copyTo(other);
      Instance copy = other.instance();
      copy.consensus.startExisting(harness.identity);
      copy.await(ConsensusStatus.Running.class);

      Instance again = harness.instance();
      again.consensus.startExisting(harness.identity);
      String reason = again.await(ConsensusStatus.Failed.class).reason();
      assertTrue(reason.contains("runs at " + there + ":7833 already"), reason);
      // The run may have begun again meanwhile, with an etcd that ends as this one.
      Await.until(
          ConsensusHarness.PATIENCE,
          "the second etcd to end",
          () -> again.processes.find("etcd").isEmpty());
    }
  }

  @Test
  @DisplayName("a full database raises an alarm in the status, which ends once there is room")
  void alarm() throws Exception {
    Instance instance =
        harness.instance(
            ConsensusHarness.settings(16L << 20, Duration.ofSeconds(1), ConsensusHarness.etcd()));
    instance.startNew();
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      // Compaction and defragmentation free space meanwhile, so one round may not fill the
      // database.
      fill(curator, instance);

      ConsensusStatus.Running full =
          instance.await(ConsensusStatus.Running.class, status -> !status.alarms().isEmpty());
      assertEquals(List.of("NOSPACE at " + full.memberId()), full.alarms());
      assertEquals(full.alarms(), instance.consensus.overview().alarms());
      requiresRoom(instance);

      curator.kv().delete(KeyRange.prefix("/big/"));
      instance.await(ConsensusStatus.Running.class, status -> status.alarms().isEmpty());
      curator.kv().put("/small", BAR);
    }
  }

  @Test
  @DisplayName("the probe counts the nodes that hold a curator's lock as running")
  void living() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    EtcdAccess access = harness.asRoot(instance);
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"));
        EtcdClient root = EtcdClient.connect(access)) {
      MemberProbe probe =
          new MemberProbe(
              instance.processes.find("etcd").orElseThrow(), access, root, List.of(), _ -> {});
      assertEquals(Set.of(), probe.living());
      String node = harness.identity.node().text();
      curator
          .kv()
          .put(
              CuratorLocks.PREFIX.key("1"),
              LeaderElectionValue.newBuilder().setNodeId(node).build().toByteArray());
      assertEquals(Set.of(node), probe.living());
    }
  }

  @Test
  @DisplayName(
      "health names an alarm within 10 s of the first refused write, whatever the turns of the maintenance")
  void alarmAtOnce() throws Exception {
    Instance instance =
        harness.instance(
            ConsensusHarness.settings(16L << 20, Duration.ofHours(1), ConsensusHarness.etcd()));
    instance.startNew();
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      MachineSpeed speed = MachineSpeed.measure();
      long refused = fill(curator, instance);

      Await.until(
          ConsensusHarness.PATIENCE,
          "health to name the alarm",
          () -> condition(instance, "etcd-alarm").isPresent());

      // The node looks every 5 s.
      speed.assertWithin(
          "health named the alarm",
          Duration.ofSeconds(10),
          Duration.ofNanos(System.nanoTime() - refused));
    }
  }

  @Test
  @DisplayName("a full database that gets room again by itself is shown for an hour")
  void madeRoom() throws Exception {
    Instance instance =
        harness.instance(
            ConsensusHarness.settings(16L << 20, Duration.ofHours(1), ConsensusHarness.etcd()));
    instance.startNew();
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      Await.until(
          ConsensusHarness.PATIENCE,
          "the first refused write",
          () -> {
            try {
              curator.kv().put("/big/one", new byte[1 << 20]);
              return false;
            } catch (EtcdRefusedException full) {
              return full.error() == EtcdError.NO_SPACE;
            }
          });
      Await.until(
          ConsensusHarness.PATIENCE,
          "the health to say that the node has made room",
          () -> condition(instance, "etcd-made-room").isPresent());
      curator.kv().put("/small", BAR);
    }
  }

  /** Requires that an operator learns what to do first, and cannot clear the alarm before. */
  private static void requiresRoom(Instance instance) throws Exception {
    EtcdOperations.Alarm alarm = instance.consensus.operations().alarms().getFirst();
    assertEquals(EtcdAlarm.Kind.NOSPACE, alarm.alarm().kind());
    assertTrue(alarm.remedy().contains("delete keys"), alarm::remedy);
    ConsensusException refused =
        assertThrows(ConsensusException.class, () -> instance.consensus.operations().disarm(false));
    assertTrue(refused.getMessage().contains("delete keys"), refused::getMessage);
  }

  /**
   * Fills the database until it stays full.
   *
   * @return the time of the first refused write after the last accepted one
   */
  private static long fill(EtcdClient curator, Instance instance) throws Exception {
    int[] written = {0};
    OptionalLong[] refused = {OptionalLong.empty()};
    Await.until(
        ConsensusHarness.PATIENCE,
        "an alarm that stays",
        () -> {
          try {
            curator.kv().put("/big/" + written[0]++, new byte[1 << 20]);
            refused[0] = OptionalLong.empty();
          } catch (EtcdRefusedException full) {
            assertEquals(EtcdError.NO_SPACE, full.error(), full::getMessage);
            refused[0] = OptionalLong.of(refused[0].orElse(System.nanoTime()));
          }
          return refused[0].isPresent()
              && instance.consensus.status().peek().orElseThrow()
                  instanceof ConsensusStatus.Running running
              && !running.alarms().isEmpty();
        });
    return refused[0].orElseThrow();
  }

  @Test
  @DisplayName("etcdctl can do everything with the files that the overview names")
  void operator() throws Exception {
    Instance instance = harness.instance();
    ConsensusStatus.Running running = instance.startNew();
    put(instance, "/foo");

    ConsensusOverview overview = instance.consensus.overview();

    assertEquals(running.memberId(), overview.leaderId());
    assertEquals(1, overview.members().size());
    assertTrue(overview.version().startsWith("3."), overview::version);
    assertTrue(overview.revision() > 1 && overview.raftIndex() > 1 && overview.databaseBytes() > 0);
    assertEquals(2L << 30, overview.quotaBytes());
    assertEquals(running.endpoints(), overview.endpoints());
    for (String file :
        List.of(
            overview.operator().ca(),
            overview.operator().certificate(),
            overview.operator().key())) {
      assertEquals(
          "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(Path.of(file))));
    }
    Process etcdctl =
        new ProcessBuilder(
                Path.of(ConsensusHarness.etcd(), "etcdctl").toString(),
                "--endpoints=" + overview.endpoints().getFirst(),
                "--cacert=" + overview.operator().ca(),
                "--cert=" + overview.operator().certificate(),
                "--key=" + overview.operator().key(),
                "get",
                "--prefix",
                "--keys-only",
                "namespaced:curator/")
            .redirectErrorStream(true)
            .start();
    String answer = new String(etcdctl.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, etcdctl.waitFor(), answer);
    assertEquals("namespaced:curator//foo", answer.strip());
  }

  @Test
  @DisplayName(
      "a member that is alone elects itself at once, and has the usual heartbeat before a second one may vote")
  void heartbeatOfOneAndOfSeveral() throws Exception {
    Instance instance = harness.instance(ConsensusHarness.maintainedOften());
    instance.startNew();
    long alone = instance.pid();
    assertTrue(commandLine(alone).contains("--election-timeout=100"), () -> commandLine(alone));
    put(instance, "/foo");

    long second;
    try (EtcdClient root = root(instance)) {
      second = root.admin().addLearner(List.of("https://127.0.0.9:7834")).id();
    }
    Await.until(
        ConsensusHarness.PATIENCE,
        "etcd to be started again with the usual heartbeat",
        () ->
            instance
                .processes
                .find(EtcdProcess.NAME)
                .filter(found -> found.pid() != alone)
                .filter(found -> commandLine(found.pid()).contains("--election-timeout=200"))
                .isPresent());
    instance.await(ConsensusStatus.Running.class);
    put(instance, "/bar");
    long several = instance.pid();

    // Alone again, etcd keeps running; the next start sets the short election timeout.
    try (EtcdClient root = root(instance)) {
      root.admin().remove(second);
    }
    assertEquals(several, instance.pid());
    instance.consensus.stop();
    instance.startExisting();
    instance.consensus.stop();
    instance.startExisting();
    assertTrue(
        commandLine(instance.pid()).contains("--election-timeout=100"),
        () -> commandLine(instance.pid()));
  }

  private static String commandLine(long pid) {
    return ProcessHandle.of(pid)
        .flatMap(handle -> handle.info().arguments())
        .map(arguments -> String.join(" ", arguments))
        .orElse("");
  }

  @Test
  @DisplayName("a second start keeps the same member, and a start for another node is refused")
  void startedTwice() throws Exception {
    Instance instance = harness.instance();
    instance.startNew();
    long pid = instance.pid();

    instance.startNew();
    instance.startExisting();
    ConsensusException other =
        assertThrows(
            ConsensusException.class,
            () ->
                instance.consensus.startExisting(
                    ConsensusIdentity.of(Ed25519.generate().getPrivate())));

    assertEquals(pid, instance.pid());
    assertTrue(other.getMessage().contains("stop it first"), other::getMessage);
  }

  static EtcdClient root(Instance instance) throws IOException {
    // Connects like an operator, with the files that the overview names.
    EtcdAccess curator = instance.consensus.access("curator");
    try {
      var files = instance.consensus.overview().operator();
      var tls =
          new EtcdTls(
              List.of(Pem.certificate(Files.readString(Path.of(files.ca())))),
              Pem.privateKey(Files.readString(Path.of(files.key()))),
              List.of(Pem.certificate(Files.readString(Path.of(files.certificate())))));
      return EtcdClient.connect(EtcdAccess.tls(curator.endpoints(), tls));
    } catch (InterruptedException interrupted) {
      throw new AssertionError("interrupted while asking for the overview", interrupted);
    }
  }

  private static void put(Instance instance, String key) throws Exception {
    try (EtcdClient curator = EtcdClient.connect(instance.consensus.access("curator"))) {
      curator.kv().put(key, BAR);
    }
  }

  private void assertStored(String key) throws Exception {
    Instance fresh = harness.instance();
    fresh.startExisting();
    try (EtcdClient curator = EtcdClient.connect(fresh.consensus.access("curator"))) {
      assertArrayEquals(BAR, curator.kv().get(key).orElseThrow().value());
    }
  }
}
