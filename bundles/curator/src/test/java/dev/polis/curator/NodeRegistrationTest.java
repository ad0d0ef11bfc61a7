package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.EtcdClient;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.TestThreads;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.wire.api.ApproveNodeRequest;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.ManagementGrpc.ManagementBlockingV2Stub;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.stored.Node;
import io.grpc.Status;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lets a node join as an operator does, with the ticket and the approval. */
@Timeout(120)
class NodeRegistrationTest {

  private static ByteString ticket(ManagementBlockingV2Stub owner) throws Exception {
    return owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .getRegisterTicket(GetRegisterTicketRequest.getDefaultInstance())
        .getTicket();
  }

  @Test
  @DisplayName("CUR-05 the register ticket is the same for all callers and under the next leader")
  void cur05_ticket() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture successor = CuratorFixture.idle()) {
      successor.follow(leader);
      Set<ByteString> tickets = firstTickets(leader.management(), 16);
      assertEquals(1, tickets.size(), tickets.toString());
      ByteString first = tickets.iterator().next();
      assertEquals(32, first.size());
      assertEquals(first, ticket(leader.management()));

      leader.resign();
      Await.value(
          successor.curator.status(),
          CuratorStatus.Leading.class::isInstance,
          CuratorFixture.SOON,
          "the successor to lead");
      assertEquals(
          first, ticket(ManagementGrpc.newBlockingV2Stub(successor.asOwner(leader.ownerKey))));
    }
  }

  private static Set<ByteString> firstTickets(ManagementBlockingV2Stub owner, int calls)
      throws Exception {
    List<Future<ByteString>> pending = new ArrayList<>();
    Set<ByteString> tickets = new HashSet<>();
    try (ExecutorService callers = new TestThreads()) {
      for (int i = 0; i < calls; i++) {
        pending.add(callers.submit(() -> ticket(owner)));
      }
      for (Future<ByteString> each : pending) {
        tickets.add(each.get());
      }
    }
    return tickets;
  }

  @Test
  @DisplayName("CUR-05 approval makes a NEW node STANDBY, and is repeatable")
  void cur05_approve() throws Exception {
    try (CuratorFixture fixture = CuratorFixture.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      ManagementBlockingV2Stub owner = fixture.management();
      KeyPair key = Ed25519.generate();
      String id = NodeId.of(key.getPublic()).text();
      refusedApproval(owner, key, Status.Code.NOT_FOUND);
      Node.Builder record =
          Node.newBuilder().setPublicKey(raw(key)).setFsmState(NodeState.NODE_STATE_NEW);
      fixture.store(id, record);

      approve(owner, key);
      Node approved = store.requireNode(id);
      assertEquals(record.setId(id).setFsmState(NodeState.NODE_STATE_STANDBY).build(), approved);
      approve(owner, key);
      assertEquals(approved, store.requireNode(id), "a repeated approval");

      Node up = store.requireNode(fixture.id.text());
      approve(owner, fixture.nodeKey);
      assertEquals(up, store.requireNode(fixture.id.text()), "the approval of an UP node");

      fixture.store(id, record.clone().setFsmState(NodeState.NODE_STATE_DECOMMISSIONED));
      refusedApproval(owner, key, Status.Code.FAILED_PRECONDITION);
      assertEquals(NodeState.NODE_STATE_DECOMMISSIONED, store.requireNode(id).getFsmState());
    }
  }

  private static ByteString raw(KeyPair key) {
    return ByteString.copyFrom(Ed25519.raw(key.getPublic()));
  }

  private static void approve(ManagementBlockingV2Stub owner, KeyPair key) throws Exception {
    owner
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .approveNode(ApproveNodeRequest.newBuilder().setPubkey(raw(key)).build());
  }

  private static void refusedApproval(
      ManagementBlockingV2Stub owner, KeyPair key, Status.Code code) {
    CuratorFixture.refused(code, () -> approve(owner, key));
  }

  @Test
  @DisplayName("registering and committing a second node is refused, and no record is written")
  void registerAndCommitAreRefused() throws Exception {
    try (CuratorFixture fixture = CuratorFixture.leading();
        EtcdClient records = fixture.records();
        RecordStore store = new RecordStore(records.kv())) {
      List<Node> before = store.nodes();
      CuratorBlockingV2Stub stranger =
          CuratorGrpc.newBlockingV2Stub(fixture.asKey(Ed25519.generate()));
      CuratorFixture.refused(
          Status.Code.FAILED_PRECONDITION,
          () ->
              stranger.registerNode(
                  RegisterNodeRequest.newBuilder()
                      .setRegisterTicket(ticket(fixture.management()))
                      .build()));
      CuratorFixture.refused(
          Status.Code.FAILED_PRECONDITION,
          () -> stranger.commitNode(CommitNodeRequest.getDefaultInstance()));
      assertEquals(before, store.nodes());
    }
  }
}
