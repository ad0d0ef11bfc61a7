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
import dev.polis.etcd.EtcdOutcomeUnknownException;
import dev.polis.etcd.EtcdTls;
import dev.polis.fixtures.Await;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Replaces the CA of three members of etcd, which other organs use meanwhile. */
@Tag("full")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class CaRotationTest {

  private static final Duration STEP = ConsensusHarness.PATIENCE.multipliedBy(2);

  private final List<ConsensusHarness> nodes = new ArrayList<>();
  private final List<Instance> members = new ArrayList<>();

  @BeforeEach
  void grow() throws Exception {
    for (int i = 0; i < 3; i++) {
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
      "the CA of etcd is replaced under writers while a node restarts: no write fails, etcd starts again twice; the former CA's key opens no port afterwards")
  void rotation() throws Exception {
    Thief thief = Thief.of(nodes.getFirst().files());
    List<Long> first = pids();
    List<Writer> writers = new ArrayList<>();
    try {
      for (Instance each : members) {
        writers.add(new Writer(each));
      }
      awaitMore(writers);
      thief.opens(members);

      // As after kill -9 of a node: its etcd runs, its clients have ended, and the step waits.
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
      awaitMore(writers);

      assertEquals(Step.ISSUING, members.getFirst().consensus.rotateCa().step());
      ConsensusCa issuing = await("each member to have a certificate of the new CA", Step.ISSUING);
      assertEquals(prepared.other().orElseThrow(), issuing.issuing());
      assertEquals(second, pids(), "a certificate needs no restart of etcd");
      for (Instance each : members) {
        assertTrue(shown(each, issuing.issuing()), "a member shows a former certificate");
      }
      awaitMore(writers);
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
      awaitMore(writers);
      thief.isRefused(members, one.issuing());
    } finally {
      for (Writer each : writers) {
        each.close();
      }
    }
    for (Writer each : writers) {
      each.check();
    }
    restarts();
  }

  private static void awaitMore(List<Writer> writers) throws Exception {
    for (Writer each : writers) {
      each.awaitMore();
    }
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
            ConsensusException.class, () -> Joining.step(members.getFirst(), fourth, joining));
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

  /** Writes to one member repeatedly, with the access that its organ handed out at the begin. */
  private static final class Writer implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(5);

    private final EtcdClient client;
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong longest = new AtomicLong();
    private final AtomicReference<String> failure = new AtomicReference<>("");
    private final Thread thread;
    private volatile boolean stopped;

    Writer(Instance member) {
      client = EtcdClient.connect(member.consensus.access("curator"));
      thread = Thread.ofVirtual().start(this::run);
    }

    private void run() {
      try {
        while (!stopped) {
          long began = System.nanoTime();
          // A write whose answer was lost with etcd's process is made again by its caller.
          try {
            client
                .kv()
                .put("/written", Long.toString(written.get()).getBytes(StandardCharsets.US_ASCII));
          } catch (EtcdOutcomeUnknownException endedMeanwhile) {
            continue;
          }
          longest.accumulateAndGet(System.nanoTime() - began, Math::max);
          written.incrementAndGet();
          LockSupport.parkNanos(PAUSE.toNanos());
        }
      } catch (InterruptedException | RuntimeException refused) {
        failure.set(refused.toString());
      }
    }

    void awaitMore() throws Exception {
      long before = written.get();
      Await.until(
          ConsensusHarness.PATIENCE,
          "more writes",
          () -> {
            check();
            return written.get() > before;
          });
    }

    void check() {
      assertEquals("", failure.get(), "a write failed beside %d others".formatted(written.get()));
    }

    @Override
    public void close() {
      stopped = true;
      try {
        Await.end(thread);
      } catch (InterruptedException hurried) {
        Thread.currentThread().interrupt();
      }
      client.close();
      System.out.printf(
          "%d writes, the longest took %d ms%n",
          written.get(), Duration.ofNanos(longest.get()).toMillis());
    }
  }
}
