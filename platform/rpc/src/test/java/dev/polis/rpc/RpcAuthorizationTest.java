package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetConsensusStatusRequest;
import dev.polis.wire.curator.RegisterNodeRequest;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.netty.handler.ssl.SslContext;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class RpcAuthorizationTest {
  /** The number of attempts on each stream, with which a leak of a refusal adds up. */
  private static final int STREAM_ATTEMPTS = 20;

  /** The streams that all callers may call, whose handlers decide the answer. */
  private static final Set<String> OPEN =
      Set.of(
          "metropolis.node.core.curator.proto.api.CuratorLocal/GetCurrentLeader",
          "metropolis.proto.api.AAA/Escrow",
          "metropolis.proto.api.NodeDebugService/LoadImage",
          "metropolis.proto.api.NodeDebugService/Logs",
          "metropolis.proto.api.NodeDebugService/Trace",
          "polis.node.debug.Debug/GetComponentLogs");

  private RpcFixture fixture;

  @BeforeEach
  void start() {
    fixture = new RpcFixture();
    fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
    fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(CuratorGrpc.getServiceDescriptor()));
    fixture.host.serve(
        RpcHost.CURATOR, RpcFixture.reaching(NodeManagementGrpc.getServiceDescriptor()));
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private static Status ticket(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            ManagementGrpc.newBlockingStub(channel)
                .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance()));
  }

  private static Status consensus(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            CuratorGrpc.newBlockingStub(channel)
                .getConsensusStatus(GetConsensusStatusRequest.getDefaultInstance()));
  }

  @Test
  @DisplayName(
      "RPC-01 a manager is admitted, a node only where it may call, a self-signed caller nowhere")
  void rpc01_permissionsDecide() {
    ManagedChannel node = fixture.as(fixture.node());
    ManagedChannel stranger =
        fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));

    assertAll(
        () -> assertEquals("reached", ticket(fixture.asOwner()).getDescription()),
        () -> assertEquals(Status.Code.PERMISSION_DENIED, ticket(node).getCode()),
        () -> assertEquals("reached", consensus(node).getDescription()),
        () -> assertEquals(Status.Code.UNAUTHENTICATED, ticket(stranger).getCode()));
  }

  @Test
  @DisplayName("a refusal names the missing permission and the caller")
  void refusalsAreWorded() {
    TlsIdentity node = fixture.node();

    String denied = ticket(fixture.as(node)).getDescription();
    String unknown =
        ticket(fixture.channel(RpcClients.anonymous(fixture.trust()))).getDescription();

    assertAll(
        () -> assertTrue(denied.contains("PERMISSION_GET_REGISTER_TICKET"), denied),
        () -> assertTrue(denied.contains("metropolis-"), denied),
        () -> assertTrue(unknown.contains("certificate of this cluster"), unknown));
  }

  @Test
  @DisplayName("RPC-02 a method without a rule is INTERNAL for all callers, never open")
  void rpc02_missingRuleIsRefused() {
    MethodDescriptor<LogsRequest, LogsRequest> lawless =
        MethodDescriptor.<LogsRequest, LogsRequest>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("polis.test.Lawless/Do")
            .setRequestMarshaller(
                io.grpc.protobuf.ProtoUtils.marshaller(LogsRequest.getDefaultInstance()))
            .setResponseMarshaller(
                io.grpc.protobuf.ProtoUtils.marshaller(LogsRequest.getDefaultInstance()))
            .build();
    fixture.host.serve(
        RpcHost.CURATOR,
        () ->
            ServerServiceDefinition.builder(
                    ServiceDescriptor.newBuilder("polis.test.Lawless").addMethod(lawless).build())
                .addMethod(lawless, RpcFixture.unary(request -> request))
                .build());

    Status status =
        RpcFixture.statusOf(
            () ->
                ClientCalls.blockingUnaryCall(
                    fixture.asOwner(),
                    lawless,
                    CallOptions.DEFAULT,
                    LogsRequest.getDefaultInstance()));

    assertEquals(Status.Code.INTERNAL, status.getCode());
    assertTrue(status.getDescription().contains("no authorization rule"), status.toString());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "RPC-02 two certificates, or one with an RSA key, are UNAUTHENTICATED, and the message says why")
  void rpc02_otherCertificatesAreRefused() throws Exception {
    TlsIdentity owner = fixture.user("owner");
    TlsIdentity two =
        new TlsIdentity(
            owner.privateKey(), java.util.List.of(owner.certificate(), fixture.ca.certificate()));
    KeyPairGenerator rsa = KeyPairGenerator.getInstance("RSA");
    rsa.initialize(2048);
    KeyPair pair = rsa.generateKeyPair();

    Status chain = ticket(dial(two.privateKey(), two.chain().toArray(X509Certificate[]::new)));
    Status other = ticket(dial(pair.getPrivate(), rsaCertificate(pair)));

    assertAll(
        () -> assertEquals(Status.Code.UNAUTHENTICATED, chain.getCode(), chain.toString()),
        () -> assertTrue(chain.getDescription().startsWith("2 certificates"), chain.toString()),
        () -> assertEquals(Status.Code.UNAUTHENTICATED, other.getCode(), other.toString()),
        () -> assertTrue(other.getDescription().contains("RSA"), other.toString()));
  }

  private static X509Certificate rsaCertificate(KeyPair pair) throws Exception {
    X500Name name = new X500Name("CN=rsa");
    Date now = new Date();
    return new JcaX509CertificateConverter()
        .getCertificate(
            new JcaX509v3CertificateBuilder(
                    name,
                    java.math.BigInteger.ONE,
                    now,
                    new Date(now.getTime() + 3_600_000),
                    name,
                    pair.getPublic())
                .build(new JcaContentSignerBuilder("SHA256withRSA").build(pair.getPrivate())));
  }

  /**
   * Makes a client as other projects may write it: with any key and chain, and without checks of
   * the server.
   */
  private ManagedChannel dial(PrivateKey key, X509Certificate... chain) throws Exception {
    InetSocketAddress address = fixture.host.address(RpcHost.CURATOR);
    SslContext tls =
        io.grpc.netty.GrpcSslContexts.configure(
                io.netty.handler.ssl.SslContextBuilder.forClient()
                    .keyManager(key, chain)
                    .trustManager(RpcTrust.anybody().manager()),
                io.netty.handler.ssl.SslProvider.JDK)
            .build();
    return fixture.keep(NettyChannelBuilder.forAddress(address).sslContext(tls).build());
  }

  @Test
  @DisplayName("RPC-03 D-02 every streaming method refuses strangers, and the host keeps serving")
  void rpc03_streamsRefuseStrangers() throws Exception {
    for (ServiceDescriptor service : AuthorizationMatrixTest.services()) {
      fixture.host.serve(RpcHost.MANAGEMENT, RpcFixture.reaching(service));
    }
    ManagedChannel stranger =
        fixture.channel(RpcClients.anonymous(fixture.trust()), RpcHost.MANAGEMENT);
    ManagedChannel owner =
        fixture.channel(
            RpcClients.authenticated(fixture.user("owner"), fixture.trust()), RpcHost.MANAGEMENT);

    int refused = 0;
    for (MethodDescriptor<Message, Message> method : streaming()) {
      for (int attempt = 0; attempt < STREAM_ATTEMPTS; attempt++) {
        Status status = AuthorizationMatrixTest.call(stranger, method);
        assertEquals(
            OPEN.contains(method.getFullMethodName())
                ? Status.Code.ALREADY_EXISTS
                : Status.Code.UNAUTHENTICATED,
            status.getCode(),
            method.getFullMethodName());
        refused += status.getCode() == Status.Code.UNAUTHENTICATED ? 1 : 0;
      }
      assertEquals(
          "reached",
          AuthorizationMatrixTest.call(owner, method).getDescription(),
          method.getFullMethodName());
    }
    assertTrue(
        refused >= 4 * STREAM_ATTEMPTS,
        "only " + refused + " refusals: too few methods were called");
    assertEquals("reached", ticket(fixture.asOwner()).getDescription());
  }

  /** Returns every method of the wire format whose request or answer is a stream. */
  private static List<MethodDescriptor<Message, Message>> streaming() throws Exception {
    return AuthorizationMatrixTest.services().stream()
        .flatMap(service -> service.getMethods().stream())
        .filter(method -> method.getType() != MethodDescriptor.MethodType.UNARY)
        .<MethodDescriptor<Message, Message>>map(RpcFixture::typed)
        .toList();
  }

  @Test
  @DisplayName(
      "a self-signed caller of an open method is identified by its key, any other stranger is not")
  void strangersAreKnownByTheirKey() {
    AtomicReference<RpcPeer> seen = new AtomicReference<>();
    fixture.host.serve(
        RpcHost.CURATOR,
        RpcFixture.serving(
            CuratorGrpc.getServiceDescriptor(),
            method ->
                (call, headers) -> {
                  seen.set(RpcPeer.current());
                  call.close(Status.ABORTED, new io.grpc.Metadata());
                  return new io.grpc.ServerCall.Listener<>() {};
                }));
    KeyPair pair = Ed25519.generate();
    CertificateAuthority foreign = CertificateAuthority.create("Another cluster");
    TlsIdentity other = TlsIdentity.of(pair.getPrivate(), foreign.issueNode(pair.getPublic()));

    register(fixture.channel(RpcClients.ephemeral(pair, fixture.trust())));
    RpcPeer selfSigned = seen.get();
    register(fixture.as(other));
    RpcPeer ofAnother = seen.get();

    assertEquals(pair.getPublic(), selfSigned.requireKey());
    assertEquals(RpcPeer.Unauthenticated.anonymous(), ofAnother);
    assertThrows(RpcException.class, ofAnother::requireKey);
  }

  private static void register(ManagedChannel channel) {
    RpcFixture.statusOf(
        () ->
            CuratorGrpc.newBlockingStub(channel)
                .registerNode(RegisterNodeRequest.getDefaultInstance()));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "the plain-text listener opens with its first service and treats each caller as a stranger")
  void plainTextKnowsNobody() {
    assertFalse(open(RpcHost.DEBUG));
    fixture.host.serve(RpcHost.DEBUG, RpcFixture.reaching(CuratorLocalGrpc.getServiceDescriptor()));
    fixture.host.serve(RpcHost.DEBUG, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
    assertTrue(open(RpcHost.DEBUG));

    ManagedChannel plain = fixture.keep(RpcClients.plaintext(fixture.host.address(RpcHost.DEBUG)));

    Status openMethod =
        RpcFixture.statusOf(
            () ->
                CuratorLocalGrpc.newBlockingStub(plain)
                    .getCACertificate(GetCACertificateRequest.getDefaultInstance()));
    assertEquals("reached", openMethod.getDescription());
    assertEquals(Status.Code.UNAUTHENTICATED, ticket(plain).getCode());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "the plain-text listener is reachable only at its address, not at the machine's others")
  void plainTextStaysAtItsAddress() throws Exception {
    fixture.host.serve(RpcHost.DEBUG, RpcFixture.reaching(CuratorLocalGrpc.getServiceDescriptor()));
    InetSocketAddress own = fixture.host.address(RpcHost.DEBUG);
    new Socket(own.getAddress(), own.getPort()).close();
    List<InetAddress> others =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(address -> !address.isLoopbackAddress())
            .collect(Collectors.toCollection(ArrayList::new));
    others.add(InetAddress.ofLiteral("127.0.0.2"));
    for (InetAddress other : others) {
      // An interface of another test may disappear meanwhile, and then its address has no route.
      try (Socket socket = new Socket(Proxy.NO_PROXY)) {
        assertThrows(
            SocketException.class,
            () -> socket.connect(new InetSocketAddress(other, own.getPort())),
            () -> "connected at " + other);
      }
    }
  }

  private boolean open(String listener) {
    return fixture.host.listeners().peek().orElseThrow().stream()
        .filter(status -> status.name().equals(listener))
        .anyMatch(RpcListenerStatus::open);
  }

  @Test
  @DisplayName("TLS listeners stay closed until the node has credentials")
  void closedWithoutCredentials() {
    try (RpcFixture young = RpcFixture.withoutCredentials()) {
      assertTrue(
          young.host.listeners().peek().orElseThrow().stream().noneMatch(RpcListenerStatus::open));
    }
  }

  @Test
  @DisplayName("a client that expects another node, or another cluster, refuses this one")
  void clientsKnowWhomTheyCall() {
    TlsIdentity owner = fixture.user("owner");
    CertificateAuthority foreign = CertificateAuthority.create("Another cluster");
    TlsIdentity other = fixture.node();

    Status wrongNode =
        ticket(
            fixture.channel(
                RpcClients.authenticated(
                    owner,
                    RpcTrust.node(
                        fixture.ca.certificate(),
                        dev.polis.pki.NodeId.of(other.certificate().getPublicKey())))));
    Status wrongCluster =
        ticket(
            fixture.channel(
                RpcClients.authenticated(owner, RpcTrust.cluster(foreign.certificate()))));
    Status rightNode =
        ticket(
            fixture.channel(
                RpcClients.authenticated(
                    owner, RpcTrust.node(fixture.ca.certificate(), fixture.nodeId()))));

    assertAll(
        () -> assertEquals(Status.Code.UNAVAILABLE, wrongNode.getCode()),
        () -> assertEquals(Status.Code.UNAVAILABLE, wrongCluster.getCode()),
        () -> assertEquals("reached", rightNode.getDescription()));
  }

  @Test
  @DisplayName("a peer's unauthenticated key is optional, and absent for an anonymous peer")
  void keyIsOptional() {
    assertEquals(Optional.empty(), RpcPeer.Unauthenticated.anonymous().publicKey());
  }
}
