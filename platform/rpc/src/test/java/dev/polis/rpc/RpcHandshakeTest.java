package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.RecordCopy;
import dev.polis.fixtures.TestPki;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class RpcHandshakeTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /**
   * The names of a certificate that fits into a handshake, and takes fifty times its bytes when
   * read.
   */
  private static final int NAMES = 3000;

  /**
   * The longest chain whose caller still gets the reason of the refusal: only one certificate is
   * accepted.
   */
  private static final int LONGEST_CHAIN = 2;

  private static final String FAILED = "TLS handshake with ";

  /** Answers, and keeps the caller. */
  private static final class Asked extends CuratorLocalGrpc.CuratorLocalImplBase {
    final AtomicReference<RpcPeer> caller = new AtomicReference<>();

    @Override
    public void getCACertificate(
        GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> observer) {
      caller.set(RpcPeer.current());
      observer.onNext(GetCACertificateResponse.getDefaultInstance());
      observer.onCompleted();
    }
  }

  private static TlsIdentity nameless(KeyPair pair) throws Exception {
    TlsContexts.clientParameters(); // this class makes such certificates readable
    X509Certificate certificate =
        (X509Certificate)
            CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(TestPki.nameless(pair, "Ed25519")));
    return TlsIdentity.of(pair.getPrivate(), certificate);
  }

  /** Makes a channel with gRPC's own defaults for TLS, and only our key manager. */
  private static ManagedChannel foreign(RpcFixture fixture, KeyPair pair) throws Exception {
    return fixture.keep(
        NettyChannelBuilder.forAddress(fixture.host.address(RpcHost.CURATOR))
            .sslContext(
                GrpcSslContexts.configure(
                        io.netty.handler.ssl.SslContextBuilder.forClient(), SslProvider.JDK)
                    .keyManager(TlsKeys.fixed(nameless(pair)))
                    .trustManager(InsecureTrustManagerFactory.INSTANCE)
                    .build())
            .build());
  }

  private static Status ask(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            CuratorLocalGrpc.newBlockingStub(channel)
                .getCACertificate(GetCACertificateRequest.getDefaultInstance()));
  }

  private static List<String> lines(RpcFixture fixture) {
    return fixture.log("rpc.curator").stream().filter(line -> line.contains(FAILED)).toList();
  }

  private static void awaitLine(RpcFixture fixture, Socket peer, String reason) throws Exception {
    String start = FAILED + "127.0.0.1:" + peer.getLocalPort() + " failed: ";
    Await.until(
        PATIENCE,
        "a line \"%s...%s\" in %s".formatted(start, reason, lines(fixture)),
        () -> lines(fixture).stream().anyMatch(l -> l.contains(start) && l.contains(reason)));
    assertEquals(1, lines(fixture).size(), () -> lines(fixture).toString());
  }

  private static Socket connect(RpcFixture fixture) throws IOException {
    InetSocketAddress address = fixture.host.address(RpcHost.CURATOR);
    return new Socket(address.getAddress(), address.getPort());
  }

  @Test
  @DisplayName(
      "a caller whose certificate has no names is identified by its key where strangers may call")
  void namelessCaller() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      Asked service = new Asked();
      fixture.host.serve(RpcHost.CURATOR, service);
      KeyPair pair = Ed25519.generate();

      ManagedChannel channel = foreign(fixture, pair);

      assertEquals(Status.OK, ask(channel));
      assertEquals(pair.getPublic(), service.caller.get().requireKey());
      assertEquals(List.of(), lines(fixture));
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a caller whose certificate has no names is a stranger where only members may call")
  void namelessStranger() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(
          RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));

      Status refused =
          RpcFixture.statusOf(
              () ->
                  ManagementGrpc.newBlockingStub(foreign(fixture, Ed25519.generate()))
                      .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance()));

      assertEquals(Status.Code.UNAUTHENTICATED, refused.getCode());
      assertTrue(refused.getDescription().contains("self-signed"), refused.getDescription());
    }
  }

  @Test
  @DisplayName(
      "a handshake with bytes that are no TLS gives one log line with the peer and the reason")
  void garbage() throws Exception {
    try (RpcFixture fixture = new RpcFixture();
        Socket socket = connect(fixture)) {
      socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      awaitLine(fixture, socket, "does not speak TLS");
    }
  }

  @Test
  @DisplayName("a chain of certificates that is too long gives one log line with peer and reason")
  void longChain() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      TlsIdentity user = fixture.user("owner");
      TlsIdentity chain =
          new TlsIdentity(
              user.privateKey(), Collections.nCopies(LONGEST_CHAIN + 1, user.certificate()));
      try (SSLSocket socket =
          tls(fixture, TlsContexts.context(TlsKeys.fixed(chain), TlsTrust.anyKey()))) {
        endsInFailure(socket);
        awaitLine(fixture, socket, "3 certificates were shown");
      }
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate with very many names gets no handshake, and gives one log line")
  void manyNames() throws Exception {
    KeyPair pair = Ed25519.generate();
    GeneralName[] names = new GeneralName[NAMES];
    Arrays.fill(names, new GeneralName(GeneralName.dNSName, ""));
    X500Name name = new X500Name("CN=many");
    X509Certificate certificate =
        new JcaX509CertificateConverter()
            .setProvider("SUN")
            .getCertificate(
                new JcaX509v3CertificateBuilder(
                        name,
                        BigInteger.ONE,
                        new Date(0),
                        Date.from(Instant.now().plus(Duration.ofDays(1))),
                        name,
                        pair.getPublic())
                    .addExtension(Extension.subjectAlternativeName, false, new GeneralNames(names))
                    .build(new JcaContentSignerBuilder("Ed25519").build(pair.getPrivate())));
    TlsIdentity many = TlsIdentity.of(pair.getPrivate(), certificate);
    try (RpcFixture fixture = new RpcFixture();
        SSLSocket socket =
            tls(fixture, TlsContexts.context(TlsKeys.fixed(many), TlsTrust.anyKey()))) {
      endsInFailure(socket);
      awaitLine(fixture, socket, "has more than 2048 bytes");
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a caller whose certificate cannot be read is refused with words, disconnected, and is one log line")
  void unreadable() throws Exception {
    KeyPair pair = Ed25519.generate();
    try (RpcFixture fixture =
        new RpcFixture(usual -> RecordCopy.with(usual, "handshakeTime", Duration.ofSeconds(2)))) {
      fixture.host.serve(
          RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
      X509Certificate certificate =
          TestPki.unreadable(
              fixture.ca.certificate(),
              fixture.ca.privateKey(),
              NodeId.of(pair.getPublic()).text(),
              pair.getPublic());
      ManagedChannel caller = fixture.as(TlsIdentity.of(pair.getPrivate(), certificate));
      for (int call = 0; call < 3; call++) {
        Status refused =
            RpcFixture.statusOf(
                () ->
                    ManagementGrpc.newBlockingStub(caller)
                        .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance()));
        assertEquals(Status.Code.UNAUTHENTICATED, refused.getCode(), refused::toString);
        assertTrue(refused.getDescription().contains("cannot be read"), refused::toString);
      }
      Await.until(
          PATIENCE,
          "the connection to end as a stranger's",
          () -> fixture.port(RpcHost.CURATOR).strangers() == 0);
      List<String> said =
          fixture.log("rpc").stream()
              .filter(line -> line.contains("cannot read a caller's certificate"))
              .toList();
      assertEquals(1, said.size(), said::toString);
      assertTrue(said.getFirst().contains("IPAddress cannot be parsed"), said::toString);
    }
  }

  @Test
  @DisplayName("a client that does not trust the node gives one log line that says so")
  void clientRefuses() throws Exception {
    try (RpcFixture fixture = new RpcFixture();
        SSLSocket socket = tls(fixture, SSLContext.getDefault())) {
      assertThrows(IOException.class, socket::startHandshake);
      awaitLine(fixture, socket, "certificate_unknown");
    }
  }

  @Test
  @DisplayName("a client that does not request HTTP/2 gives one log line that says so")
  void otherProtocol() throws Exception {
    try (RpcFixture fixture = new RpcFixture();
        SSLSocket socket = tls(fixture, TlsContexts.anonymous(TlsTrust.anyKey()))) {
      endsInFailure(socket);
      awaitLine(fixture, socket, "HTTP/2");
    }
  }

  @Test
  @DisplayName("a handshake that takes too long gives one log line with the time")
  void tooSlow() throws Exception {
    try (RpcFixture fixture =
            new RpcFixture(
                usual -> RecordCopy.with(usual, "handshakeTime", Duration.ofMillis(300)));
        Socket socket = connect(fixture)) {
      socket.getOutputStream().write(0x16);
      awaitLine(fixture, socket, "within 300 ms");
    }
  }

  @Test
  @DisplayName("a peer that breaks off gives one log line, one that only connects gives none")
  void brokenOff() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      connect(fixture).close();
      try (Socket socket = connect(fixture)) {
        socket.getOutputStream().write(0x16);
        socket.shutdownOutput();
        awaitLine(fixture, socket, "closed the connection before");
      }
    }
  }

  @Test
  @DisplayName(
      "a flood of garbage gives a few log lines, and the next one has the number of omitted ones")
  void flood() throws Exception {
    int flood = 200;
    try (RpcFixture fixture = new RpcFixture()) {
      for (int count = 0; count < flood; count++) {
        try (Socket socket = connect(fixture)) {
          socket.getOutputStream().write("no TLS".getBytes(StandardCharsets.US_ASCII));
          socket.shutdownOutput();
          socket.getInputStream().readAllBytes();
        } catch (IOException reset) {
          // The other side closed first.
        }
      }
      Await.until(
          PATIENCE,
          "all of the flood to be accounted for in " + lines(fixture),
          () -> {
            try (Socket socket = connect(fixture)) {
              socket.getOutputStream().write("no TLS".getBytes(StandardCharsets.US_ASCII));
              socket.getInputStream().readAllBytes();
            } catch (IOException reset) {
              // The other side closed first.
            }
            return lines(fixture).stream().anyMatch(line -> line.contains(" more failed"));
          });
      assertTrue(lines(fixture).size() < flood / 2, () -> lines(fixture).size() + " lines");
    }
  }

  private static SSLSocket tls(RpcFixture fixture, SSLContext context) throws IOException {
    InetSocketAddress address = fixture.host.address(RpcHost.CURATOR);
    SSLSocket socket =
        (SSLSocket)
            context.getSocketFactory().createSocket(address.getAddress(), address.getPort());
    socket.setSoTimeout((int) PATIENCE.toMillis());
    socket.setEnabledProtocols(new String[] {"TLSv1.3"});
    return socket;
  }

  /** In TLS 1.3 a server may refuse after the client has completed its handshake. */
  private static void endsInFailure(SSLSocket socket) {
    try {
      socket.getOutputStream().write(1);
      assertEquals(-1, socket.getInputStream().read());
    } catch (IOException refused) {
      // This is the expected end.
    }
  }
}
