package dev.polis.curator;

import static dev.polis.curator.CuratorFixture.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.fixtures.Await;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsIdentity;
import dev.polis.rpc.RequestId;
import dev.polis.wire.api.DeleteNodeRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.cluster.AddOperatorRequest;
import dev.polis.wire.cluster.ChangesGrpc;
import dev.polis.wire.cluster.GetChangeMemoryRequest;
import dev.polis.wire.cluster.OperatorRole;
import dev.polis.wire.cluster.OperatorsGrpc;
import dev.polis.wire.cluster.RegisterTicketsGrpc;
import dev.polis.wire.cluster.RemoveOperatorRequest;
import dev.polis.wire.cluster.ReplaceTicketRequest;
import dev.polis.wire.cluster.ReplaceTicketResponse;
import dev.polis.wire.cluster.RevokeTicketRequest;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.Node;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import java.security.KeyPair;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Sends changes with ids repeatedly, to one leader and to the next one. */
@Timeout(120)
class RepeatedChangesTest {

  @RegisterExtension static final SharedEtcd ETCD = new SharedEtcd();

  private static final String TICKET = "/global/register_ticket";

  private static final int CALLS = 50;

  private final SecureRandom random = new SecureRandom();

  private RequestId fresh() {
    return RequestId.first(random);
  }

  private static <S extends AbstractStub<S>> S with(RequestId id, S stub) {
    return with(id.text(), stub);
  }

  private static <S extends AbstractStub<S>> S with(String id, S stub) {
    Metadata headers = new Metadata();
    headers.put(RequestId.HEADER, id);
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static ReplaceTicketResponse replace(ManagedChannel channel, RequestId id)
      throws StatusException {
    return with(id, RegisterTicketsGrpc.newBlockingV2Stub(channel))
        .replaceTicket(ReplaceTicketRequest.getDefaultInstance());
  }

  private static Optional<KeyValue> stored(CuratorFixture curator, String key) throws Exception {
    try (EtcdClient records = curator.records()) {
      return records.kv().get(key);
    }
  }

  /** Returns how often the ticket was written since it is there. */
  private static long writes(CuratorFixture curator) throws Exception {
    return stored(curator, TICKET).map(KeyValue::version).orElse(0L);
  }

  @Test
  @DisplayName("a change with the same id is made once, and answered the same twice")
  void repeated() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel owner = leader.asOwner();
      RequestId id = fresh();
      long before = writes(leader);

      ReplaceTicketResponse first = replace(owner, id);
      ReplaceTicketResponse again = replace(owner, id);

      assertEquals(first, again);
      assertEquals(before + 1, writes(leader));
      replace(owner, id.next());
      replace(owner, fresh());
      assertEquals(before + 3, writes(leader));
    }
  }

  @Test
  @DisplayName("a change without an id is made as often as it is sent")
  void withoutId() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      RegisterTicketsGrpc.RegisterTicketsBlockingV2Stub tickets =
          RegisterTicketsGrpc.newBlockingV2Stub(leader.asOwner());
      long before = writes(leader);

      tickets.replaceTicket(ReplaceTicketRequest.getDefaultInstance());
      tickets.replaceTicket(ReplaceTicketRequest.getDefaultInstance());

      assertEquals(before + 2, writes(leader));
      try (EtcdClient records = leader.records()) {
        assertEquals(List.of(), records.kv().range(KeyRange.prefix("/global/changes/")).keys());
      }
    }
  }

  @Test
  @DisplayName("the next leader answers a change that the former leader has made")
  void nextLeader() throws Exception {
    try (CuratorFixture former = ETCD.leading();
        CuratorFixture next = CuratorFixture.idle()) {
      next.follow(former);
      RequestId id = fresh();
      ReplaceTicketResponse first = replace(former.asOwner(), id);
      long made = writes(former);
      former.resign();
      Await.value(
          next.curator.status(),
          CuratorStatus.Leading.class::isInstance,
          CuratorFixture.SOON,
          "the other curator to lead");

      ManagedChannel owner = next.asOwner(former.ownerKey);
      assertEquals(first, replace(owner, id));
      assertEquals(made, writes(next));
      replace(owner, id.next());
      assertEquals(made + 1, writes(next));
    }
  }

  @Test
  @DisplayName("an id of another request, method or earlier number is refused, and nothing changes")
  void anotherChange() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      ManagedChannel owner = leader.asOwner();
      RequestId id = fresh();
      replace(owner, id.next());
      long made = writes(leader);

      String method =
          refused(
              Status.Code.INVALID_ARGUMENT,
              () ->
                  with(id.next(), RegisterTicketsGrpc.newBlockingV2Stub(owner))
                      .revokeTicket(RevokeTicketRequest.getDefaultInstance()));
      assertTrue(method.contains("used for another request"), method);
      String number = refused(Status.Code.INVALID_ARGUMENT, () -> replace(owner, id));
      assertTrue(number.contains("its change number 2, and this is number 1"), number);
      label(leader, owner, id.next().next(), "first");
      refused(Status.Code.INVALID_ARGUMENT, () -> label(leader, owner, id.next().next(), "second"));
      String form =
          refused(
              Status.Code.INVALID_ARGUMENT,
              () ->
                  with("1", RegisterTicketsGrpc.newBlockingV2Stub(owner))
                      .replaceTicket(ReplaceTicketRequest.getDefaultInstance()));
      assertTrue(form.contains("polis-request-id"), form);
      assertEquals(made, writes(leader));
    }
  }

  private static void label(
      CuratorFixture leader, ManagedChannel channel, RequestId id, String value)
      throws StatusException {
    with(id, ManagementGrpc.newBlockingV2Stub(channel))
        .updateNodeLabels(
            UpdateNodeLabelsRequest.newBuilder()
                .setId(leader.id.text())
                .addUpsert(
                    UpdateNodeLabelsRequest.Pair.newBuilder().setKey("repeated").setValue(value))
                .build());
  }

  private static Node.Builder node(NodeState state) {
    return Node.newBuilder()
        .setJoinKey(ByteString.copyFrom(Ed25519.raw(Ed25519.generate().getPublic())))
        .setFsmState(state);
  }

  private static String newNode() {
    return NodeId.of(Ed25519.generate().getPublic()).text();
  }

  @Test
  @DisplayName("a refused change is not remembered: repeated when it is possible, it is made")
  void refusedBefore() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      RequestId id = fresh();
      String node = newNode();
      ManagementGrpc.ManagementBlockingV2Stub owner =
          with(id, ManagementGrpc.newBlockingV2Stub(leader.asOwner()));
      DeleteNodeRequest request = DeleteNodeRequest.newBuilder().setId(node).build();
      refused(Status.Code.NOT_FOUND, () -> owner.deleteNode(request));

      leader.store(node, node(NodeState.NODE_STATE_NEW));
      owner.deleteNode(request);

      assertEquals(Optional.empty(), stored(leader, "/nodes/" + node));
      owner.deleteNode(request);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "another caller with the same id gets no answer of the first one, but its own change")
  void anotherCaller() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair key = Ed25519.generate();
      OperatorsGrpc.newBlockingV2Stub(leader.asOwner()).addOperator(operator("alice", key));
      ManagedChannel alice = leader.as(identity(leader, "alice", key));
      Await.until(
          CuratorFixture.SOON,
          "the leader to know the operator",
          () -> CuratorFixture.codeOf(() -> replace(alice, fresh())) == Status.Code.OK);
      RequestId id = fresh();
      long before = writes(leader);
      replace(leader.asOwner(), id);

      replace(alice, id);
      label(leader, alice, id.next(), "other");

      assertEquals(before + 2, writes(leader));
    }
  }

  private static AddOperatorRequest operator(String name, KeyPair key) {
    return AddOperatorRequest.newBuilder()
        .setName(name)
        .setPublicKey(ByteString.copyFrom(Ed25519.raw(key.getPublic())))
        .setRole(OperatorRole.OPERATOR_ROLE_OPERATOR)
        .build();
  }

  private static TlsIdentity identity(CuratorFixture leader, String name, KeyPair key)
      throws Exception {
    return TlsIdentity.of(key.getPrivate(), CuratorFixture.escrow(leader.asKey(key), name, key));
  }

  @Test
  @DisplayName("the removal of an operator with a certificate, and without, is answered twice")
  void removedOperator() throws Exception {
    try (CuratorFixture leader = ETCD.leading()) {
      KeyPair key = Ed25519.generate();
      ManagedChannel owner = leader.asOwner();
      for (int certificates : List.of(0, 1)) {
        RequestId id = fresh();
        OperatorsGrpc.OperatorsBlockingV2Stub operators =
            with(id, OperatorsGrpc.newBlockingV2Stub(owner));
        operators.addOperator(operator("alice", key));
        operators.addOperator(operator("alice", key));
        if (certificates > 0) {
          identity(leader, "alice", key);
        }
        OperatorsGrpc.OperatorsBlockingV2Stub next =
            with(id.next(), OperatorsGrpc.newBlockingV2Stub(owner));
        RemoveOperatorRequest request = RemoveOperatorRequest.newBuilder().setName("alice").build();

        assertEquals(certificates, next.removeOperator(request).getRevoked());
        assertEquals(certificates, next.removeOperator(request).getRevoked());
        refused(
            Status.Code.NOT_FOUND,
            () -> OperatorsGrpc.newBlockingV2Stub(owner).removeOperator(request));
      }
    }
  }

  @Test
  @DisplayName("50 concurrent calls with one id make one change, and all get its answer")
  void concurrent() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
      ManagedChannel owner = leader.asOwner();
      RequestId id = fresh();
      long before = writes(leader);

      Set<ReplaceTicketResponse> answers = new HashSet<>(all(callers, () -> replace(owner, id)));

      assertEquals(1, answers.size());
      assertEquals(before + 1, writes(leader));
    }
  }

  @Test
  @DisplayName("50 concurrent deletions of one node with one id all succeed")
  void concurrentDeletions() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
      ManagementGrpc.ManagementBlockingV2Stub owner =
          with(fresh(), ManagementGrpc.newBlockingV2Stub(leader.asOwner()));
      String node = newNode();
      leader.store(node, node(NodeState.NODE_STATE_UP));
      DeleteNodeRequest request =
          DeleteNodeRequest.newBuilder()
              .setId(node)
              .setSafetyBypassNotDecommissioned(
                  DeleteNodeRequest.SafetyBypassNotDecommissioned.getDefaultInstance())
              .build();

      all(callers, () -> owner.deleteNode(request));

      refused(
          Status.Code.NOT_FOUND,
          () -> ManagementGrpc.newBlockingV2Stub(leader.asOwner()).deleteNode(request));
    }
  }

  private static <T> List<T> all(ExecutorService callers, Callable<T> call) throws Exception {
    List<Future<T>> calls = new ArrayList<>();
    for (int n = 0; n < CALLS; n++) {
      calls.add(callers.submit(call));
    }
    List<T> answers = new ArrayList<>();
    for (Future<T> each : calls) {
      answers.add(each.get());
    }
    return answers;
  }

  @Test
  @DisplayName("leader and follower say for how long they remember changes")
  void says() throws Exception {
    try (CuratorFixture leader = ETCD.leading();
        CuratorFixture follower = CuratorFixture.idle()) {
      follower.follow(leader);
      for (ManagedChannel node : List.of(leader.asNode(), follower.asNode())) {
        assertNotEquals(
            0,
            ChangesGrpc.newBlockingV2Stub(node)
                .getChangeMemory(GetChangeMemoryRequest.getDefaultInstance())
                .getSeconds());
      }
    }
  }
}
