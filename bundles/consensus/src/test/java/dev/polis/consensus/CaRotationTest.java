package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.consensus.ConsensusCa.Step;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdTls;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Slice;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Replaces the CA of two or three members of etcd, which other organs use meanwhile. The short form
 * takes one kind of crash, and one of the other two rotations, by turns.
 */
@Tag("full")
@Tag("longer")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class CaRotationTest {

  private static final Duration STEP = ConsensusHarness.PATIENCE.multipliedBy(2);

  private final List<ConsensusHarness> nodes = new ArrayList<>();
  private final List<Instance> members = new ArrayList<>();

  private void grow(int voters) throws Exception {
    for (int i = 0; i < voters; i++) {
      nodes.add(new ConsensusHarness());
      members.add(nodes.get(i).instance());
    }
    members.getFirst().startNew();
    for (int i = 1; i < nodes.size(); i++) {
      Joining.becomeVoter(members.getFirst(), nodes.get(i), members.get(i));
    }
    await("each member to have reported its CA", Step.ONE);
  }

  @AfterEach
  void close() throws IOException {
    for (ConsensusHarness each : nodes) {
      each.close();
    }
  }

  /** Waits until a step has reached each member. */
  private ConsensusCa await(String what, Step step) throws Exception {
    AtomicReference<Object> last = new AtomicReference<>("nothing");
    Await.until(
        STEP,
        what,
        () -> {
          try {
            ConsensusCa now = members.getFirst().consensus.ca();
            last.set(now);
            return now.step() == step && now.waiting().isEmpty();
          } catch (ConsensusException startsAgain) {
            last.set(startsAgain.getMessage());
            return false;
          }
        },
        last::get);
    return members.getFirst().consensus.ca();
  }

  private List<Long> pids() {
    return members.stream().map(Instance::pid).toList();
  }

  private CaBundle onDisk(int node) throws Exception {
    return CaBundle.fromPem(Files.readString(nodes.get(node).files().ca().path()));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "the CA of etcd is replaced under writers while a node restarts: each write is answered and none is lost, etcd starts again twice; the former CA's key opens no port afterwards")
  void rotation() throws Exception {
    grow(3);
    Thief thief = Thief.of(nodes.getFirst().files());
    List<Long> first = pids();
    List<Writer> ended = Writer.around(members, 1, writers -> replaceUnder(writers, thief, first));
    for (Writer each : ended) {
      each.requireAnswers();
    }
    restarts();
  }

  private void replaceUnder(List<Writer> writers, Thief thief, List<Long> first) throws Exception {
    thief.opens(members);

    // As after kill -9 of a node: its etcd runs, its clients have ended, and the step
    // waits.
    writers.get(1).close();
    writers.get(1).check();
    nodes.get(1).closeInstance();
    assertEquals(Step.PREPARED, members.getFirst().consensus.rotateCa().step());
    assertEquals(
        Step.PREPARED,
        members.getFirst().consensus.retireCa().step(),
        "the only CA that issues was retired");
    members.set(1, nodes.get(1).instance());
    members.get(1).startExisting();
    writers.set(1, new Writer(members.get(1)));
    ConsensusCa prepared = await("each member to trust the new CA too", Step.PREPARED);
    List<Long> second = pids();
    for (int i = 0; i < nodes.size(); i++) {
      assertNotEquals(first.get(i), second.get(i), "a member's etcd did not start again");
      assertEquals(2, onDisk(i).certificates().size());
    }
    Writer.awaitMore(writers);

    rotateAtOnce(Step.ISSUING);
    ConsensusCa issuing = await("each member to have a certificate of the new CA", Step.ISSUING);
    assertEquals(prepared.other().orElseThrow(), issuing.issuing());
    assertEquals(second, pids(), "a certificate needs no restart of etcd");
    for (Instance each : members) {
      assertTrue(shown(each, issuing.issuing()), "a member shows a former certificate");
    }
    Writer.awaitMore(writers);
    thief.opens(members);
    assertEquals(
        Step.ISSUING,
        members.getFirst().consensus.rotateCa().step(),
        "a rotation began before the end of another");

    members.getFirst().consensus.retireCa();
    ConsensusCa one = await("each member to trust the new CA alone", Step.ONE);
    assertEquals(issuing.issuing(), one.issuing());
    for (int i = 0; i < nodes.size(); i++) {
      assertNotEquals(second.get(i), pids().get(i), "a member's etcd did not start again");
      assertEquals(CaBundle.of(one.issuing()), onDisk(i));
    }
    Writer.awaitMore(writers);
    thief.isRefused(members, one.issuing());
  }

  /** Asks for the next step through all members at the same time: it is one step. */
  private void rotateAtOnce(Step wanted) throws Exception {
    try (ExecutorService owners = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Callable<ConsensusCa>> calls =
          members.stream().<Callable<ConsensusCa>>map(each -> each.consensus::rotateCa).toList();
      for (Future<ConsensusCa> answer : owners.invokeAll(calls)) {
        assertEquals(wanted, answer.get().step());
      }
    }
  }

  /** A rotation while not all members are there, with its end. */
  enum Rotation {
    TWO(
        "with two members, which both must be up for a write, writes wait while one starts again, and none is lost"),
    AWAY(
        "a member that was off while the others replaced the CA without it is refused, and joins again");

    private final String words;

    Rotation(String words) {
      this.words = words;
    }

    @Override
    public String toString() {
      return words;
    }
  }

  static List<Rotation> rotations() {
    return Slice.of(List.of(Rotation.values()), 2);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rotations")
  @DisplayName("the CA is replaced while not all members are there")
  void few(Rotation rotation) throws Exception {
    switch (rotation) {
      case TWO -> two();
      case AWAY -> away();
    }
  }

  private void two() throws Exception {
    grow(2);
    Writer.around(members, 1, _ -> wholeRotation());
  }

  private ConsensusCa wholeRotation() throws Exception {
    members.getFirst().consensus.rotateCa();
    await("each member to trust the new CA too", Step.PREPARED);
    members.getFirst().consensus.rotateCa();
    await("each member to have a certificate of the new CA", Step.ISSUING);
    members.getFirst().consensus.retireCa();
    return await("each member to trust the new CA alone", Step.ONE);
  }

  /** Names the part that a crash stops. */
  enum Crash {
    /** The node's process ends; etcd keeps running. */
    NODE,
    /** The whole machine stops, and etcd with it. */
    MACHINE
  }

  static List<Crash> crashes() {
    return Slice.of(List.of(Crash.values()), 2);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("crashes")
  @DisplayName(
      "a member that is killed in each step, before it has written its file, after that, and when its etcd has started, ends in the same state; no write of the others is lost")
  void killed(Crash crash) throws Exception {
    grow(3);
    X509Certificate first = onDisk(0).issuing();
    Writer writer = new Writer(members.getFirst());
    try {
      step(crash, Step.PREPARED, 2);
      ConsensusCa prepared = await("each member to trust the new CA too", Step.PREPARED);

      int other = 1;
      String key = keyOf(other);
      members.getFirst().consensus.rotateCa();
      Await.until(STEP, "a member to write the new CA's key", () -> !keyOf(other).equals(key));
      comeBack(other, crash);
      ConsensusCa issuing = await("each member to have another certificate", Step.ISSUING);
      assertEquals(prepared.other().orElseThrow(), issuing.issuing());

      step(crash, Step.ONE, 1);
      ConsensusCa one = await("each member to trust the new CA alone", Step.ONE);
      assertEquals(issuing.issuing(), one.issuing());
      assertNotEquals(first, one.issuing());
      for (int i = 0; i < nodes.size(); i++) {
        assertEquals(CaBundle.of(one.issuing()), onDisk(i));
        assertTrue(shown(members.get(i), one.issuing()), "a member shows a former certificate");
      }
      writer.awaitMore();
    } finally {
      writer.close();
    }
    writer.check();
    writer.requireLast();
  }

  /**
   * Makes a step that starts each etcd again, and kills a member at each point of it.
   *
   * @param cas the number of trusted CAs in the end
   */
  private void step(Crash crash, Step step, int cas) throws Exception {
    // The client of the first member lives on, so its node does, too.
    int off = 2;
    lose(off, crash);
    if (step == Step.ONE) {
      members.getFirst().consensus.retireCa();
    } else {
      members.getFirst().consensus.rotateCa();
    }
    start(off);
    List<Integer> order = inTurn();
    int written = order.getFirst();
    int started = order.getLast();
    long former = members.get(started).pid();
    Await.until(
        STEP, "a member to write its CAs", () -> onDisk(written).certificates().size() == cas);
    comeBack(written, crash);
    Await.until(STEP, "etcd to start with its CAs", () -> startedAgain(started, former));
    comeBack(started, crash);
  }

  /** Returns the numbers of the members behind the first one, in the order of their turns. */
  private List<Integer> inTurn() throws Exception {
    Map<Long, Integer> byId = new TreeMap<>(Long::compareUnsigned);
    for (int i = 1; i < members.size(); i++) {
      String id = members.get(i).consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId();
      byId.put(Long.parseUnsignedLong(id, 16), i);
    }
    return List.copyOf(byId.values());
  }

  private boolean startedAgain(int node, long former) {
    return members.get(node).processes.find("etcd").filter(now -> now.pid() != former).isPresent();
  }

  private String keyOf(int node) throws IOException {
    return Files.readString(nodes.get(node).files().caKey().path());
  }

  private void comeBack(int node, Crash crash) throws Exception {
    lose(node, crash);
    start(node);
  }

  private void lose(int node, Crash crash) {
    if (crash == Crash.MACHINE) {
      nodes.get(node).lose();
    } else {
      nodes.get(node).closeInstance();
    }
  }

  private void start(int node) throws Exception {
    members.set(node, nodes.get(node).instance());
    members.get(node).startExisting();
  }

  private void away() throws Exception {
    grow(3);
    String id = members.get(2).consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId();
    nodes.get(2).lose();
    members.remove(2);
    members.getFirst().consensus.expel(id);
    ConsensusCa one = wholeRotation();

    Instance back = nodes.get(2).instance();
    back.consensus.startExisting(nodes.get(2).identity);
    Joining.becomeVoter(members.getFirst(), nodes.get(2), back);

    members.add(back);
    await("the member that was away to trust the new CA", Step.ONE);
    assertEquals(CaBundle.of(one.issuing()), onDisk(2));
  }

  /** Starts each node again: the disk has all it needs, and etcd is adopted. */
  private void restarts() throws Exception {
    List<Long> before = pids();
    for (int i = 0; i < nodes.size(); i++) {
      members.set(i, nodes.get(i).instance());
      members.get(i).startExisting();
    }
    assertEquals(before, pids());
    await("each member to report the new CA", Step.ONE);
  }

  @Test
  @DisplayName(
      "no member takes a step while another one is off; a node that joins in the middle gets the CA that issues, and a further rotation replaces that one")
  void waits() throws Exception {
    grow(3);
    String name = nodes.get(2).identity.node().text();
    nodes.get(2).lose();
    List<Long> before = List.of(members.get(0).pid(), members.get(1).pid());
    members.getFirst().consensus.rotateCa();
    assertTrue(
        members.getFirst().consensus.rotateCa().waiting().contains(name), "it was not waited for");
    assertEquals(1, onDisk(0).certificates().size(), "etcd would have lost its quorum");
    assertEquals(before, List.of(members.get(0).pid(), members.get(1).pid()));
    members.set(2, nodes.get(2).instance());
    members.get(2).startExisting();
    await("each member to trust the new CA too", Step.PREPARED);

    ConsensusHarness fourth = new ConsensusHarness();
    nodes.add(fourth);
    Instance joining = fourth.instance();
    ConsensusException refused =
        assertThrows(
            ConsensusException.class, () -> Joining.ask(members.getFirst(), fourth, joining));
    assertTrue(refused.getMessage().contains("polisctl ca rotate --of etcd"), refused.getMessage());
    members.getFirst().consensus.rotateCa();
    ConsensusCa issuing = await("each member to have another certificate", Step.ISSUING);
    Joining.becomeVoter(members.getFirst(), fourth, joining);
    members.add(joining);
    assertEquals(CaBundle.of(issuing.issuing()), onDisk(3));
    await("the new member to report", Step.ISSUING);
    members.getFirst().consensus.retireCa();
    await("each member to trust one CA", Step.ONE);

    members.getFirst().consensus.rotateCa();
    await("each member to trust two CAs again", Step.PREPARED);
    members.getFirst().consensus.rotateCa();
    ConsensusCa next = await("each member to have the next certificate", Step.ISSUING);
    assertNotEquals(issuing.issuing(), next.issuing());
    members.getFirst().consensus.retireCa();
    await("each member to trust the next CA alone", Step.ONE);
  }

  /** Returns whether a member shows clients a certificate of this CA. */
  private static boolean shown(Instance member, X509Certificate ca) throws Exception {
    EtcdAccess access = member.consensus.access("curator");
    EtcdTls present = ((EtcdAccess.MutualTls) access.security()).tls();
    return answers(access, new EtcdTls(List.of(ca), present.key(), present.chain()));
  }

  private static boolean answers(EtcdAccess access, EtcdTls as) throws InterruptedException {
    try (EtcdClient client = EtcdClient.connect(EtcdAccess.tls(access.endpoints(), as))) {
      client.kv().within(Duration.ofSeconds(2)).get("namespaced:curator//written");
      return true;
    } catch (EtcdException refused) {
      return false;
    }
  }

  /** Has the key of a CA, and makes certificates of a client and of a member with it. */
  private record Thief(CertificateAuthority stolen) {

    static Thief of(ConsensusFiles files) throws IOException {
      return new Thief(
          new CertificateAuthority(
              Pem.privateKey(Files.readString(files.caKey().path())),
              Pem.certificate(Files.readString(files.ca().path())),
              InstantSource.system()));
    }

    void opens(List<Instance> members) throws Exception {
      for (Instance each : members) {
        List<X509Certificate> cas = trusted(each);
        assertTrue(client(each, cas), "the client port refuses a trusted CA");
        assertEquals("HTTP/1.1 200 OK", peer(each));
      }
    }

    void isRefused(List<Instance> members, X509Certificate present) throws Exception {
      for (Instance each : members) {
        assertTrue(!client(each, List.of(present)), "the client port accepts the former CA");
        String refusal = peer(each);
        assertFalse(refusal.startsWith("HTTP/"), refusal);
      }
    }

    private static List<X509Certificate> trusted(Instance member) {
      EtcdAccess access = member.consensus.access("curator");
      return ((EtcdAccess.MutualTls) access.security()).tls().trusted();
    }

    private boolean client(Instance member, List<X509Certificate> trusted)
        throws InterruptedException {
      KeyPair pair = Ed25519.generate();
      return answers(
          member.consensus.access("curator"),
          new EtcdTls(
              trusted,
              pair.getPrivate(),
              List.of(stolen.issue(CertificateTemplate.client("root"), pair.getPublic()))));
    }

    /** Asks the port of members for their list, which needs a member's certificate. */
    private String peer(Instance member) {
      KeyPair pair = Ed25519.generate();
      TlsIdentity identity =
          TlsIdentity.of(
              pair.getPrivate(),
              stolen.issue(
                  CertificateTemplate.peer(
                      "thief",
                      List.of(ConsensusPki.MEMBER),
                      List.of(InetAddress.ofLiteral("127.0.0.1"))),
                  pair.getPublic()));
      String host = member.consensus.access("curator").endpoints().getFirst().host();
      try (SSLSocket socket =
          (SSLSocket)
              TlsContexts.context(TlsKeys.fixed(identity), TlsTrust.anyKey())
                  .getSocketFactory()
                  .createSocket(host, ConsensusHarness.settings().peerPort())) {
        socket
            .getOutputStream()
            .write(
                "GET /members HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII));
        String status =
            new BufferedReader(
                    new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
                .readLine();
        return String.valueOf(status);
      } catch (IOException refused) {
        return refused.toString();
      }
    }
  }
}
