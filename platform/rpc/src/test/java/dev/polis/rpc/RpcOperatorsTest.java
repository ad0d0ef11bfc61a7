package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.LogsRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.ext.Permission;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.security.KeyPair;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls a host as operators, and changes the list of operators meanwhile. */
@Timeout(60)
class RpcOperatorsTest {
  private final RpcFixture fixture = new RpcFixture();
  private final CountDownLatch streaming = new CountDownLatch(1);

  @BeforeEach
  void serve() {
    fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
    fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(OperatorsGrpc.getServiceDescriptor()));
    fixture.host.serve(
        RpcHost.CURATOR,
        RpcFixture.serving(
            NodeManagementGrpc.getServiceDescriptor(),
            method ->
                (call, headers) -> {
                  streaming.countDown();
                  call.request(1);
                  return new ServerCall.Listener<>() {};
                }));
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private static Status change(ManagedChannel channel) throws Exception {
    return ask(channel, ManagementGrpc.getUpdateNodeLabelsMethod());
  }

  private static Status read(ManagedChannel channel) throws Exception {
    return ask(channel, ManagementGrpc.getGetClusterInfoMethod());
  }

  private static Status ask(ManagedChannel channel, MethodDescriptor<?, ?> method)
      throws Exception {
    return AuthorizationMatrixTest.call(channel, RpcFixture.typed(method));
  }

  /** Opens a stream whose handler gives no answer, and returns the status of its end. */
  private CompletableFuture<Status> stream(ManagedChannel channel) throws Exception {
    CompletableFuture<Status> ended = new CompletableFuture<>();
    ClientCall<Message, Message> call =
        channel.newCall(RpcFixture.typed(NodeManagementGrpc.getLogsMethod()), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(status);
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(LogsRequest.getDefaultInstance());
    call.halfClose();
    assertTrue(
        streaming.await(RpcFixture.PATIENCE.toSeconds(), TimeUnit.SECONDS),
        "the stream did not reach its handler");
    return ended;
  }

  private static Status end(CompletableFuture<Status> stream) throws Exception {
    return stream.get(RpcFixture.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a viewer changes nothing, and the refusal names the permission, the role and the command that grants it")
  void viewer() throws Exception {
    ManagedChannel viewer = fixture.as(fixture.user("alice", RpcRole.VIEWER));

    assertEquals(Status.Code.ALREADY_EXISTS, read(viewer).getCode());
    Status refused = change(viewer);

    assertEquals(Status.Code.PERMISSION_DENIED, refused.getCode());
    assertEquals(
        "metropolis.proto.api.Management/UpdateNodeLabels needs PERMISSION_UPDATE_NODE_LABELS, which"
            + " user \"alice\" with the role viewer does not have; the owner grants it with the role"
            + " operator (polisctl operator role alice operator)",
        refused.getDescription());
  }

  @Test
  @Tag("attack")
  @DisplayName("an operator gives no other a role, and reads that the owner alone may do so")
  void operatorGivesNoRole() throws Exception {
    ManagedChannel operator = fixture.as(fixture.user("bob", RpcRole.OPERATOR));

    assertEquals(Status.Code.ALREADY_EXISTS, change(operator).getCode());
    for (MethodDescriptor<?, ?> method :
        new MethodDescriptor<?, ?>[] {
          OperatorsGrpc.getAddOperatorMethod(),
          OperatorsGrpc.getSetOperatorRoleMethod(),
          OperatorsGrpc.getRemoveOperatorMethod()
        }) {
      Status refused = ask(operator, method);
      assertEquals(Status.Code.PERMISSION_DENIED, refused.getCode(), method.getFullMethodName());
      assertTrue(
          refused
              .getDescription()
              .endsWith("the owner alone has it, and no role grants it; ask the owner to do this"),
          refused::toString);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a list without an operator ends the operator's open stream, and refuses calls with a valid certificate")
  void removal() throws Exception {
    TlsIdentity alice = fixture.user("alice", RpcRole.VIEWER);
    ManagedChannel channel = fixture.as(alice);
    CompletableFuture<Status> stream = stream(channel);

    fixture.host.admit(new RpcOperators.Known(Map.of()));

    assertEquals(Status.Code.UNAUTHENTICATED, end(stream).getCode());
    for (ManagedChannel each : new ManagedChannel[] {channel, fixture.as(alice)}) {
      Status refused = read(each);
      assertEquals(Status.Code.UNAUTHENTICATED, refused.getCode());
      assertTrue(
          refused.getDescription().contains("the cluster has no operator \"alice\""),
          refused::toString);
    }
    assertEquals(Status.Code.ALREADY_EXISTS, read(fixture.asOwner()).getCode());
  }

  @Test
  @Tag("attack")
  @DisplayName("another role decides about the next call of an open connection")
  void lessRights() throws Exception {
    TlsIdentity bob = fixture.user("bob", RpcRole.OPERATOR);
    ManagedChannel channel = fixture.as(bob);
    assertEquals(Status.Code.ALREADY_EXISTS, change(channel).getCode());
    CompletableFuture<Status> stream = stream(channel);

    fixture.host.admit(
        new RpcOperators.Known(
            Map.of(
                "bob",
                new RpcOperators.Operator(bob.certificate().getPublicKey(), RpcRole.VIEWER))));

    assertEquals(Status.Code.PERMISSION_DENIED, change(channel).getCode());
    assertEquals(Status.Code.ALREADY_EXISTS, read(channel).getCode());
    assertTrue(!stream.isDone(), "a viewer may also read logs, so the stream stays open");
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a certificate with an operator's name and another key, or of another authority, has no rights")
  void forged() throws Exception {
    fixture.user("alice", RpcRole.OPERATOR);
    KeyPair thief = Ed25519.generate();
    TlsIdentity foreign =
        TlsIdentity.of(
            thief.getPrivate(),
            CertificateAuthority.create("Test cluster CA").issueUser("alice", thief.getPublic()));

    Status otherKey = read(fixture.as(fixture.certificate("alice")));
    assertEquals(Status.Code.UNAUTHENTICATED, otherKey.getCode());
    assertTrue(
        otherKey.getDescription().contains("the operator \"alice\" has another key"),
        otherKey::toString);
    assertEquals(Status.Code.UNAUTHENTICATED, read(fixture.as(foreign)).getCode());
    for (String name : new String[] {"Alice", "alice ", "alice\u0000", "OWNER", "owner "}) {
      assertEquals(
          Status.Code.UNAUTHENTICATED, read(fixture.as(fixture.certificate(name))).getCode(), name);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a node without the list of operators accepts the owner as its only user")
  void unknownList() throws Exception {
    ManagedChannel alice = fixture.as(fixture.certificate("alice"));

    Status refused = read(alice);

    assertEquals(Status.Code.UNAUTHENTICATED, refused.getCode());
    assertTrue(
        refused.getDescription().contains("has not got the cluster's list of operators yet"),
        refused::toString);
    assertEquals(Status.Code.ALREADY_EXISTS, read(fixture.asOwner()).getCode());
  }

  @Test
  @Tag("attack")
  @DisplayName("no list gives the role of the owner")
  void noSecondOwner() {
    KeyPair key = Ed25519.generate();
    assertThrows(
        IllegalArgumentException.class,
        () -> new RpcOperators.Operator(key.getPublic(), RpcRole.OWNER));
    RpcOperators list =
        new RpcOperators.Known(
            Map.of("owner", new RpcOperators.Operator(key.getPublic(), RpcRole.VIEWER)));
    assertEquals(RpcRole.OWNER, list.role("owner", key.getPublic()).orElseThrow());
  }

  @Test
  @DisplayName("each role includes the one before it, and a viewer's permissions change nothing")
  void rolesGrow() {
    assertTrue(RpcRole.OPERATOR.permissions().containsAll(RpcRole.VIEWER.permissions()));
    assertTrue(RpcRole.OWNER.permissions().containsAll(RpcRole.OPERATOR.permissions()));
    assertTrue(
        RpcRole.VIEWER.permissions().stream().allMatch(each -> each.name().contains("_READ_")),
        RpcRole.VIEWER.permissions()::toString);
    EnumSet<Permission> owners = EnumSet.copyOf(RpcRole.OWNER.permissions());
    owners.removeAll(RpcRole.OPERATOR.permissions());
    assertEquals(
        EnumSet.of(
            Permission.PERMISSION_UPDATE_NODE_SELF,
            Permission.PERMISSION_MAINTAIN_CONSENSUS,
            Permission.PERMISSION_MANAGE_ACCESS),
        owners);
  }
}
