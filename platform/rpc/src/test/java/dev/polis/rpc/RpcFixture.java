package dev.polis.rpc;

import com.google.protobuf.Message;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.audit.AuditLog;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCalls;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Runs a host with a cluster of its own, and makes callers of every kind. */
final class RpcFixture implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(10);

  final CertificateAuthority ca = CertificateAuthority.create("Test cluster CA");
  final KeyPair nodeKey = Ed25519.generate();
  final NodeCredentials credentials =
      new NodeCredentials(
          nodeKey.getPrivate(), ca.issueNode(nodeKey.getPublic()), ca.certificate());
  final LogTree logs = LogTree.create();

  /** The time by which the host's clock is ahead of its callers'. */
  volatile Duration ahead = Duration.ZERO;

  final LocalRpcHost host;
  final Map<String, RpcOperators.Operator> operators = new HashMap<>();
  private final List<ManagedChannel> channels = new ArrayList<>();

  RpcFixture() {
    this(limits -> limits);
  }

  RpcFixture(UnaryOperator<RpcSettings.Limits> limits) {
    this(limits.apply(RpcSettings.Limits.DEFAULT));
    host.identify(credentials);
  }

  private RpcFixture(RpcSettings.Limits limits) {
    this(limits, logs -> AuditLog.discarding(logs.log("rpc.audit")));
  }

  /** Makes a fixture with the test's own audit log. */
  static RpcFixture audited(Function<LogTree, AuditLog> audit) {
    RpcFixture fixture = new RpcFixture(RpcSettings.Limits.DEFAULT, audit);
    fixture.host.identify(fixture.credentials);
    return fixture;
  }

  /** Makes a fixture that refuses calls when this heap is full. */
  static RpcFixture on(HeapRoom heap) {
    RpcFixture fixture =
        new RpcFixture(
            RpcSettings.Limits.DEFAULT, logs -> AuditLog.discarding(logs.log("rpc.audit")), heap);
    fixture.host.identify(fixture.credentials);
    return fixture;
  }

  private RpcFixture(RpcSettings.Limits limits, Function<LogTree, AuditLog> audit) {
    this(limits, audit, new HeapRoom(LogTree.create().log("rpc")));
  }

  private RpcFixture(RpcSettings.Limits limits, Function<LogTree, AuditLog> audit, HeapRoom heap) {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(RpcHost.CURATOR, any, true),
                    new RpcSettings.Listener(RpcHost.MANAGEMENT, any, true),
                    new RpcSettings.Listener(RpcHost.DEBUG, any, false)),
                limits),
            logs,
            () -> Instant.now().plus(ahead),
            audit.apply(logs),
            new StrangerRoom(limits.connections(), limits.strangerCalls()),
            heap);
  }

  static RpcFixture withoutCredentials() {
    return new RpcFixture(RpcSettings.Limits.DEFAULT);
  }

  NodeId nodeId() {
    return credentials.id();
  }

  RpcTrust trust() {
    return RpcTrust.cluster(ca.certificate());
  }

  /** Makes a certificate of a user, who is the owner or an operator with this name. */
  TlsIdentity user(String name) {
    return name.equals(RpcRole.OWNER_NAME) ? certificate(name) : user(name, RpcRole.OPERATOR);
  }

  /** Makes a certificate of an operator, whom the host then knows. */
  TlsIdentity user(String name, RpcRole role) {
    TlsIdentity user = certificate(name);
    operators.put(name, new RpcOperators.Operator(user.certificate().getPublicKey(), role));
    host.admit(new RpcOperators.Known(operators));
    return user;
  }

  /** Makes a certificate of a user that the host need not know. */
  TlsIdentity certificate(String name) {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueUser(name, pair.getPublic()));
  }

  TlsIdentity node() {
    KeyPair pair = Ed25519.generate();
    return TlsIdentity.of(pair.getPrivate(), ca.issueNode(pair.getPublic()));
  }

  ManagedChannel channel(RpcClients clients) {
    return channel(clients, RpcHost.CURATOR);
  }

  ManagedChannel channel(RpcClients clients, String listener) {
    return keep(clients.dial(host.address(listener)));
  }

  ManagedChannel as(TlsIdentity identity) {
    return channel(RpcClients.authenticated(identity, trust()));
  }

  ManagedChannel asOwner() {
    return as(user("owner"));
  }

  ManagedChannel keep(ManagedChannel channel) {
    channels.add(channel);
    return channel;
  }

  void revoke(TlsIdentity... identities) {
    host.revoke(
        ca.revocationList(
            BigInteger.valueOf(System.nanoTime()),
            java.util.Arrays.stream(identities)
                .map(identity -> identity.certificate().getSerialNumber())
                .toList()));
  }

  /** Returns the number of connections of a listener. */
  RpcStatistics.Port port(String name) {
    return host.statistics().ports().stream()
        .filter(port -> port.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** Returns every line of every journal, so that a test can search for forbidden text. */
  List<String> log() {
    return log("");
  }

  List<String> log(String dn) {
    try (LogReader reader = logs.read(LogQuery.of(dn).withChildren().backlogAll())) {
      return reader.backlog().stream().map(RpcFixture::text).toList();
    }
  }

  private static String text(LogEntry entry) {
    return entry.dn()
        + " "
        + switch (entry.payload()) {
          case LogPayload.Leveled leveled ->
              leveled.severity() + " " + leveled.location() + " " + leveled.message();
          case LogPayload.Raw raw -> raw.data();
        };
  }

  /** Serves all methods of a service: unary and server-streaming ones with {@code answer}. */
  static BindableService serving(
      ServiceDescriptor service,
      Function<MethodDescriptor<Message, Message>, ServerCallHandler<Message, Message>> handler) {
    return () -> {
      ServerServiceDefinition.Builder definition = ServerServiceDefinition.builder(service);
      for (MethodDescriptor<?, ?> method : service.getMethods()) {
        MethodDescriptor<Message, Message> typed = typed(method);
        definition.addMethod(typed, handler.apply(typed));
      }
      return definition.build();
    };
  }

  /** Serves all methods of a service with an error which shows that the handler was reached. */
  static BindableService reaching(ServiceDescriptor service) {
    return serving(
        service,
        method ->
            (call, headers) -> {
              call.close(Status.ALREADY_EXISTS.withDescription("reached"), new io.grpc.Metadata());
              return new io.grpc.ServerCall.Listener<>() {};
            });
  }

  // Descriptors of generated services contain the message types.
  @SuppressWarnings("unchecked")
  static MethodDescriptor<Message, Message> typed(MethodDescriptor<?, ?> method) {
    return (MethodDescriptor<Message, Message>) method;
  }

  static <Q, A> ServerCallHandler<Q, A> unary(Function<Q, A> answer) {
    return ServerCalls.asyncUnaryCall(
        (request, observer) -> {
          observer.onNext(answer.apply(request));
          observer.onCompleted();
        });
  }

  static Status statusOf(Callable<?> call) {
    try {
      call.call();
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    } catch (Exception e) {
      throw new AssertionError("the call failed outside of gRPC", e);
    }
  }

  @Override
  public void close() {
    channels.forEach(ManagedChannel::shutdownNow);
    host.close();
  }
}
