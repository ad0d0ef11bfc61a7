package dev.polis.pki;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.TestThreads;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class TlsTest {
  private static final int PATIENCE_MILLIS = 20_000;

  private final CertificateAuthority ca = CertificateAuthority.create("Cluster CA");
  private final TlsIdentity node = node(ca);
  private final TlsIdentity user = user();
  private final TlsTrust.Source source = TlsTrust.Source.of(ca.certificate());

  private static TlsIdentity node(CertificateAuthority authority) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), authority.issueNode(pair.getPublic()));
  }

  private TlsIdentity user() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueUser("owner", pair.getPublic()));
  }

  /** Holds each side's view of the other. */
  private record Handshake(X509Certificate ofServer, X509Certificate ofClient, String protocol) {}

  /**
   * Makes one connection: a handshake and a byte each way, so that TLS 1.3's late refusals occur.
   */
  private static Handshake connect(SSLContext server, SSLContext client) throws Exception {
    try (var threads = new TestThreads();
        var listener = listen(server)) {
      Future<X509Certificate> served = threads.submit(() -> serve(listener));
      SSLSession session = dial(client, listener.getLocalPort());
      return new Handshake(
          (X509Certificate) session.getPeerCertificates()[0], served.get(), session.getProtocol());
    }
  }

  private static SSLServerSocket listen(SSLContext server) throws IOException {
    var listener =
        (SSLServerSocket)
            server
                .getServerSocketFactory()
                .createServerSocket(0, 1, InetAddress.getLoopbackAddress());
    listener.setSSLParameters(TlsContexts.serverParameters());
    listener.setSoTimeout(PATIENCE_MILLIS);
    return listener;
  }

  private static SSLSession dial(SSLContext client, int port) throws IOException {
    try (var socket =
        (SSLSocket)
            client.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      socket.setSSLParameters(TlsContexts.clientParameters());
      socket.getOutputStream().write(1);
      if (socket.getInputStream().read() != 2) {
        throw new SSLException("server closed");
      }
      return socket.getSession();
    }
  }

  private static X509Certificate serve(SSLServerSocket listener) throws IOException {
    try (var socket = (SSLSocket) listener.accept()) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      socket.getInputStream().read();
      socket.getOutputStream().write(2);
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    }
  }

  private static SSLContext context(TlsIdentity identity, TlsTrust trust) {
    return TlsContexts.context(TlsKeys.fixed(identity), trust);
  }

  private void refused(SSLContext server, SSLContext client) {
    var failure = assertThrows(IOException.class, () -> connect(server, client));
    assertFalse(
        failure instanceof SocketTimeoutException, "neither side refused: the connection hangs");
  }

  @Test
  @DisplayName("node and user meet over mutual TLS 1.3, by identity and not by host name")
  void mutual() throws Exception {
    NodeId id = NodeId.of(node.certificate().getPublicKey());

    Handshake met =
        connect(context(node, TlsTrust.member(source)), context(user, TlsTrust.node(source, id)));

    assertEquals(new Handshake(node.certificate(), user.certificate(), "TLSv1.3"), met);
  }

  @Test
  @DisplayName("a node other than the dialled one is refused")
  void otherNode() {
    NodeId wanted = NodeId.of(node(ca).certificate().getPublicKey());
    refused(context(node, TlsTrust.member(source)), context(user, TlsTrust.node(source, wanted)));
  }

  @Test
  @DisplayName("a user cannot pose as a node, nor a stranger as a member")
  void impostors() {
    refused(context(user, TlsTrust.member(source)), context(user, TlsTrust.anyNode(source)));
    var elsewhere = CertificateAuthority.create("Cluster CA");
    refused(
        context(node(elsewhere), TlsTrust.member(source)), context(user, TlsTrust.anyNode(source)));
    refused(
        context(node, TlsTrust.member(source)), context(node(elsewhere), TlsTrust.anyNode(source)));
    refused(
        context(node, TlsTrust.member(source)), TlsContexts.anonymous(TlsTrust.anyNode(source)));
  }

  @Test
  @DisplayName("a self-signed key is admitted only where any key is")
  void selfSigned() throws Exception {
    KeyPair pair = Ed25519.generate();
    TlsIdentity own =
        TlsIdentity.of(
            pair.getPrivate(), CertificateAuthority.selfSigned(pair, InstantSource.system()));

    assertEquals(
        own.certificate(),
        connect(context(node, TlsTrust.anyKey()), context(own, TlsTrust.anyNode(source)))
            .ofClient());
    refused(context(node, TlsTrust.member(source)), context(own, TlsTrust.anyNode(source)));
    assertThrows(IdentityException.class, () -> source.verify(own.certificate()));
  }

  @Test
  @DisplayName("a certificate without names is admitted only where any key is")
  void nameless() throws Exception {
    KeyPair pair = Ed25519.generate();
    TlsIdentity own = NamelessCertificateTest.identity(pair);

    Handshake asClient =
        connect(context(node, TlsTrust.anyKey()), context(own, TlsTrust.anyNode(source)));
    assertEquals(pair.getPublic(), asClient.ofClient().getPublicKey());
    Handshake asServer = connect(context(own, TlsTrust.anyKey()), context(own, TlsTrust.anyKey()));
    assertEquals(pair.getPublic(), asServer.ofServer().getPublicKey());

    refused(context(node, TlsTrust.member(source)), context(own, TlsTrust.anyNode(source)));
    refused(context(node, TlsTrust.anyNode(source)), context(own, TlsTrust.anyNode(source)));
    refused(context(node, TlsTrust.authority(source)), context(own, TlsTrust.anyNode(source)));
    refused(context(own, TlsTrust.anyKey()), context(user, TlsTrust.anyNode(source)));
    assertThrows(IdentityException.class, () -> source.verify(own.certificate()));
  }

  @Test
  @DisplayName("a peer of an authority without node names is admitted by its signature")
  void authority() throws Exception {
    KeyPair pair = Ed25519.generate();
    TlsIdentity etcd =
        TlsIdentity.of(
            pair.getPrivate(),
            ca.issue(CertificateTemplate.peer("etcd", List.of("e"), List.of()), pair.getPublic()));

    connect(context(etcd, TlsTrust.authority(source)), context(etcd, TlsTrust.authority(source)));
    refused(
        context(node(CertificateAuthority.create("Cluster CA")), TlsTrust.authority(source)),
        context(etcd, TlsTrust.authority(source)));
  }

  private TlsIdentity issued(CertificateTemplate template) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issue(template, pair.getPublic()));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a server is admitted by its own name, and not with another server's, a client's or a peer's certificate")
  void serverName() throws Exception {
    SSLContext client = context(user, TlsTrust.server(source, "api"));

    connect(
        context(
            issued(CertificateTemplate.server("x", List.of("a", "api"), List.of())),
            TlsTrust.anyKey()),
        client);
    for (CertificateTemplate other :
        List.of(
            CertificateTemplate.server("api", List.of("kubelet"), List.of()),
            CertificateTemplate.peer("api", List.of("api"), List.of()),
            CertificateTemplate.client("api"))) {
      refused(context(issued(other), TlsTrust.anyKey()), client);
    }
  }

  @Test
  @DisplayName("an expired certificate is refused, and a new one of the same node is accepted")
  void expiry() throws Exception {
    var later = new ManualClock();
    later.advance(Duration.between(later.instant(), InstantSource.system().instant()));
    later.advance(CertificateTemplate.NODE_LIFETIME.plusDays(1));
    var then = source.withClock(later);

    refused(context(node, TlsTrust.anyKey()), context(user, TlsTrust.anyNode(then)));
    var renewed =
        TlsIdentity.of(
            node.privateKey(),
            new CertificateAuthority(ca.privateKey(), ca.certificate(), later)
                .issueNode(node.certificate().getPublicKey()));
    connect(context(renewed, TlsTrust.anyKey()), context(user, TlsTrust.anyNode(then)));
  }

  @Test
  @DisplayName("a revocation takes effect at the next handshake, with the same context")
  void revocation() throws Exception {
    var list = new AtomicReference<>(Optional.<Crl>empty());
    var followed = TlsTrust.Source.of(() -> CaBundle.of(ca.certificate()), list::get);
    SSLContext server = context(node, TlsTrust.member(followed));
    SSLContext client = context(user, TlsTrust.anyNode(followed));
    connect(server, client);

    list.set(
        Optional.of(
            ca.revocationList(BigInteger.ONE, List.of(user.certificate().getSerialNumber()))));

    refused(server, client);
  }

  @Test
  @DisplayName("a renewed identity is presented from the next handshake on, with the same context")
  void rotation() throws Exception {
    var identity = new AtomicReference<>(Optional.of(node));
    SSLContext server = TlsContexts.context(new TlsKeys(identity::get), TlsTrust.member(source));
    SSLContext client = context(user, TlsTrust.anyNode(source));
    assertEquals(node.certificate(), connect(server, client).ofServer());

    TlsIdentity renewed =
        TlsIdentity.of(node.privateKey(), ca.issueNode(node.certificate().getPublicKey()));
    identity.set(Optional.of(renewed));

    assertEquals(renewed.certificate(), connect(server, client).ofServer());
  }

  @Test
  @DisplayName("a session is not resumed after a revocation: the same port checks again")
  void noResumption() throws Exception {
    var list = new AtomicReference<>(Optional.<Crl>empty());
    var followed = TlsTrust.Source.of(() -> CaBundle.of(ca.certificate()), list::get);
    SSLContext server = context(node, TlsTrust.member(followed));
    SSLContext client = context(user, TlsTrust.anyNode(followed));
    try (var threads = new TestThreads();
        var listener = listen(server)) {
      Future<X509Certificate> first = threads.submit(() -> serve(listener));
      dial(client, listener.getLocalPort());
      first.get();

      list.set(
          Optional.of(
              ca.revocationList(BigInteger.ONE, List.of(user.certificate().getSerialNumber()))));
      Future<X509Certificate> second = threads.submit(() -> serve(listener));

      assertThrows(IOException.class, () -> dial(client, listener.getLocalPort()));
      assertThrows(ExecutionException.class, second::get);
    }
  }

  @Test
  @DisplayName("key and chain of a handshake under way match across a rotation")
  void rotationUnderWay() {
    var identity = new AtomicReference<>(Optional.of(node));
    var keys = new TlsKeys(identity::get);
    String before = keys.chooseServerAlias("EdDSA", null, null);

    TlsIdentity other = node(ca);
    identity.set(Optional.of(other));
    String after = keys.chooseServerAlias("EdDSA", null, null);

    assertEquals(node.certificate(), keys.getCertificateChain(before)[0]);
    assertEquals(node.privateKey(), keys.getPrivateKey(before));
    assertEquals(other.certificate(), keys.getCertificateChain(after)[0]);
    assertEquals(other.privateKey(), keys.getPrivateKey(after));
  }

  @Test
  @DisplayName("a server without an identity refuses")
  void noIdentity() {
    refused(
        TlsContexts.context(new TlsKeys(Optional::empty), TlsTrust.member(source)),
        context(user, TlsTrust.anyNode(source)));
  }

  @Test
  @DisplayName("RPC-02 two certificates or a key of another kind are refused")
  void rpc02_chain() throws Exception {
    var generator = KeyPairGenerator.getInstance("RSA");
    // Weak and quick to make, since it is refused for its algorithm.
    generator.initialize(1024);
    var pair = generator.generateKeyPair();
    X509Certificate rsa = ca.issue(CertificateTemplate.user("owner"), pair.getPublic());
    X509Certificate[] two = {user.certificate(), node.certificate()};

    for (TlsTrust trust : List.of(TlsTrust.anyKey(), TlsTrust.member(source))) {
      var many =
          assertThrows(
              java.security.cert.CertificateException.class,
              () -> trust.checkClientTrusted(two, "EdDSA"));
      assertTrue(many.getMessage().contains("2 certificates"), many.getMessage());
      assertThrows(
          java.security.cert.CertificateException.class,
          () -> trust.checkClientTrusted(new X509Certificate[] {rsa}, "RSA"));
    }
  }
}
