package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdTls;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Asks servers that stand for another member, or for what has its address. */
class MemberProbeTest {

  private static final InetAddress ADDRESS = InetAddress.ofLiteral("127.0.138.1");
  private static final String NAME = "node-2";

  private final CertificateAuthority ca = CertificateAuthority.create("the CA of etcd");

  /** Is a server with this certificate, or one that takes no connection without one. */
  private static final class Server implements AutoCloseable {
    private final ServerSocket socket;

    Server() throws IOException {
      socket = new ServerSocket(0, 50, ADDRESS);
    }

    /** Ends each connection after its handshake. */
    static Server tls(CertificateAuthority issuer, String name) throws IOException {
      KeyPair pair = Ed25519.generate();
      X509Certificate certificate =
          issuer.issue(
              CertificateTemplate.server(name, List.of(name), List.of()), pair.getPublic());
      SSLContext context =
          TlsContexts.context(
              TlsKeys.fixed(TlsIdentity.of(pair.getPrivate(), certificate)), TlsTrust.anyKey());
      Server server = new Server();
      Thread.startVirtualThread(() -> server.serve(context));
      return server;
    }

    private void serve(SSLContext context) {
      while (!socket.isClosed()) {
        try (Socket plain = socket.accept();
            SSLSocket secured =
                (SSLSocket) context.getSocketFactory().createSocket(plain, null, true)) {
          secured.setUseClientMode(false);
          secured.setNeedClientAuth(true);
          secured.startHandshake();
        } catch (IOException refused) {
          continue; // the client does not trust this server, or the test has ended
        }
      }
    }

    String url() {
      return "https://%s:%d".formatted(ADDRESS.getHostAddress(), socket.getLocalPort());
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private MemberContact.Fault ask(Server peers, String clients) throws Exception {
    KeyPair pair = Ed25519.generate();
    EtcdTls user =
        new EtcdTls(
            List.of(ca.certificate()),
            pair.getPrivate(),
            List.of(ca.issue(CertificateTemplate.client("root"), pair.getPublic())));
    EtcdAccess root =
        EtcdAccess.tls(List.of(new EtcdEndpoint(ADDRESS.getHostAddress(), 1, NAME)), user);
    return MemberProbe.ask(
            root, new EtcdMember(2, NAME, List.of(peers.url()), List.of(clients), false))
        .fault()
        .orElseThrow();
  }

  private MemberContact.Fault askServer(CertificateAuthority issuer, String name) throws Exception {
    try (Server server = Server.tls(issuer, name)) {
      return ask(server, server.url());
    }
  }

  /** Returns the CA of the cluster on a machine whose clock is wrong. */
  private CertificateAuthority at(Duration ahead) {
    return new CertificateAuthority(
        ca.privateKey(), ca.certificate(), () -> Instant.now().plus(ahead));
  }

  @Test
  @DisplayName("a server with the certificate of another CA is no member, and is to be ended")
  void otherCluster() throws Exception {
    // The CAs of two clusters have the same name.
    for (String name : List.of("the CA of etcd", "another CA")) {
      MemberContact.Fault told = askServer(CertificateAuthority.create(name), NAME);
      assertTrue(told.text().contains("no member of this cluster"), told.text());
      assertTrue(told.remedy().startsWith("end what has the address 127.0.138.1"), told.remedy());
      assertTrue(told.lost());
    }
  }

  @Test
  @DisplayName(
      "a certificate outside its time is no reason to end its member: the clocks are named")
  void clock() throws Exception {
    for (Duration ahead : List.of(Duration.ofDays(-400), Duration.ofDays(2))) {
      MemberContact.Fault told = askServer(at(ahead), NAME);
      assertTrue(told.text().contains("not valid by this machine's clock (Not"), told.text());
      assertTrue(told.remedy().contains("set the wrong one: timedatectl"), told.remedy());
      assertTrue(told.lost());
    }
  }

  @Test
  @DisplayName("another member at the address is named with the reason of TLS")
  void otherMember() throws Exception {
    MemberContact.Fault told = askServer(ca, "node-3");
    assertTrue(told.text().contains("not as a member should: "), told.text());
    assertTrue(told.text().contains(NAME), told.text());
    assertFalse(told.text().contains("no member of this cluster"), told.text());
    assertFalse(told.remedy().contains("end what"), told.remedy());
    assertTrue(told.lost());
  }

  @Test
  @DisplayName("a member that waits for a leader is in contact although it serves no client yet")
  void waitsForLeader() throws Exception {
    try (Server peers = Server.tls(ca, NAME);
        Server mute = new Server()) {
      MemberContact.Fault told = ask(peers, mute.url());
      assertTrue(told.text().contains("its etcd waits for a leader"), told.text());
      assertEquals(MemberContact.ELECTION, told.remedy());
      assertFalse(told.lost());
    }
  }

  @Test
  @DisplayName("a closed port for clients loses no vote, and the remedy does not end the member")
  void clientPort() throws Exception {
    try (Server peers = Server.tls(ca, NAME)) {
      String closed;
      try (Server ended = new Server()) {
        closed = ended.url();
      }
      MemberContact.Fault told = ask(peers, closed);
      assertTrue(told.text().contains("its port for clients, but not"), told.text());
      assertTrue(told.text().contains("refused"), told.text());
      assertFalse(told.remedy().contains("end what"), told.remedy());
      assertFalse(told.lost());
    }
  }

  @Test
  @DisplayName("a closed port for members loses a vote")
  void peerPort() throws Exception {
    Server ended = new Server();
    ended.close();
    MemberContact.Fault told = ask(ended, ended.url());
    assertTrue(told.text().contains("refused"), told.text());
    assertTrue(told.lost());
  }

  @Test
  @DisplayName(
      "a port at which etcd listens, and that refuses connections, has a firewall before it")
  void rejected() {
    MemberContact.Fault told =
        MemberProbe.rejected(7, new EtcdEndpoint(ADDRESS.getHostAddress(), 7833, NAME));
    assertTrue(
        told.text().startsWith("etcd (pid 7) listens at its port 127.0.138.1:7833"), told.text());
    assertTrue(told.remedy().contains("rejects port 7833"), told.remedy());
  }
}
