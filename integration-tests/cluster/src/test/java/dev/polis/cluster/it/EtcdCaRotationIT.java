package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Replaces the CA of etcd in a cluster of three voters, as its owner does with polisctl. */
@Tag("full")
class EtcdCaRotationIT {

  private static final List<String> ADDRESSES =
      List.of("127.0.103.1", "127.0.103.2", "127.0.103.3");
  private static final int CLIENT_PORT = 7833;
  private static final int PEER_PORT = 7834;

  @TempDir static Path directory;
  private static ThreeVoters nodes;
  private static TestNode founder;

  @BeforeAll
  static void grow() throws Exception {
    nodes = new ThreeVoters(directory, ADDRESSES, Mode.INSECURE);
    nodes.found();
    nodes.join();
    nodes.vote();
    nodes.awaitCandidates(ADDRESSES.size());
    founder = nodes.nodes().getFirst();
  }

  @AfterAll
  static void sweep() {
    if (nodes != null) {
      nodes.close();
    }
  }

  private static JsonObject status() throws Exception {
    return founder.json("ca", "status").getAsJsonObject().getAsJsonObject("etcd");
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "etcd's CA is replaced under writers while a voter restarts: no call fails, no acknowledged write is lost; the former CA opens no port; each wrong order names the next command")
  void rotation() throws Exception {
    Thief thief = Thief.of(founder);
    TestNode last = nodes.nodes().getLast();
    String lastId = List.copyOf(nodes.byId().keySet()).getLast();
    List<OwnerApi> ways = new ArrayList<>();
    List<NumberedWriter> writers = new ArrayList<>();
    List<SteadyCaller> load = new ArrayList<>();
    try {
      for (TestNode each : nodes.without(last)) {
        OwnerApi way = nodes.through(each);
        ways.add(way);
        NumberedWriter writer = new NumberedWriter(way, nodes.cluster().firstId(), ways.size(), 0);
        writers.add(writer);
        load.add(SteadyCaller.of(writer::write));
      }
      awaitMore(load, "before the rotation");
      for (TestNode each : nodes.nodes()) {
        assertTrue(thief.opens(each, CLIENT_PORT) && thief.opens(each, PEER_PORT), each.address());
      }

      last.stop();
      CompletableFuture<Finished> rotated =
          CompletableFuture.supplyAsync(() -> founder.ctl("ca", "rotate", "--of", "etcd"));
      Await.until(
          TestNode.PATIENCE,
          "the rotation to wait for the voter that is off",
          () -> status().get("waitingNodes").toString().contains(lastId),
          EtcdCaRotationIT::status);
      refused("polisctl ca rotate --of etcd", "ca", "retire", "--of", "etcd");
      refused("node role remove NODE ConsensusMember", "ca", "rotate", "--of", "etcd", "--force");
      awaitMore(load, "while both CAs are made known");
      last.up();
      rotated.get(TestNode.PATIENCE.toSeconds() * 2, TimeUnit.SECONDS).requireSuccess("rotate");
      awaitMore(load, "after the new CA issues");
      assertEquals("ISSUING", status().get("step").getAsString());
      Finished again = founder.ctl("ca", "rotate", "--of", "etcd");
      assertTrue(again.out().contains("Next: ca retire --of etcd"), again.all());

      founder.ctl("ca", "retire", "--of", "etcd").requireSuccess("retire");
      awaitMore(load, "after the former CA was retired");
    } finally {
      load.forEach(SteadyCaller::close);
    }
    for (SteadyCaller each : load) {
      each.check("during the rotation");
    }
    for (int i = 0; i < writers.size(); i++) {
      NumberedWriter writer = writers.get(i);
      assertTrue(
          writer.in(ways.get(i).node(nodes.cluster().firstId()).getLabels())
              >= writer.acknowledged(),
          "an acknowledged write was lost");
    }
    ways.forEach(OwnerApi::close);

    assertEquals("ONE", status().get("step").getAsString());
    assertEquals("[]", status().get("waitingNodes").toString());
    for (TestNode each : nodes.nodes()) {
      assertFalse(thief.opens(each, CLIENT_PORT), each.address());
      assertFalse(thief.opens(each, PEER_PORT), each.address());
      each.awaitHome();
    }
    for (String id : nodes.byId().keySet()) {
      nodes.cluster().awaitHealthy(id);
    }
  }

  private static void awaitMore(List<SteadyCaller> load, String when) throws Exception {
    for (SteadyCaller each : load) {
      each.awaitMore(when);
    }
  }

  private static void refused(String remedy, String... command) {
    Finished refused = founder.ctl(command);
    assertNotEquals(0, refused.code(), refused.all());
    assertTrue(refused.err().contains(remedy), refused.all());
  }

  /** Makes certificates with the key of etcd's CA, as a thief of a disk does. */
  private record Thief(CertificateAuthority stolen) {

    static Thief of(TestNode node) throws IOException {
      Path pki = node.state().resolve("data/etcd/pki");
      return new Thief(
          new CertificateAuthority(
              Pem.privateKey(Files.readString(pki.resolve("ca-key.pem"))),
              Pem.certificate(Files.readString(pki.resolve("ca.pem"))),
              InstantSource.system()));
    }

    /** Returns whether a port answers a request; a refused certificate ends the connection. */
    boolean opens(TestNode node, int port) {
      KeyPair pair = Ed25519.generate();
      TlsIdentity identity =
          TlsIdentity.of(
              pair.getPrivate(),
              stolen.issue(
                  port == PEER_PORT
                      ? CertificateTemplate.peer(
                          "thief",
                          List.of("localhost"),
                          List.of(InetAddress.ofLiteral(node.address())))
                      : CertificateTemplate.client("root"),
                  pair.getPublic()));
      try (SSLSocket socket =
          (SSLSocket)
              TlsContexts.context(TlsKeys.fixed(identity), TlsTrust.anyKey())
                  .getSocketFactory()
                  .createSocket(node.address(), port)) {
        // The begin of HTTP/2 with empty settings, or a request by HTTP/1.1: each has an answer.
        socket
            .getOutputStream()
            .write(
                (port == PEER_PORT
                        ? "GET /members HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"
                        : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                    .getBytes(StandardCharsets.ISO_8859_1));
        return socket.getInputStream().read() >= 0;
      } catch (IOException refused) {
        return false;
      }
    }
  }
}
