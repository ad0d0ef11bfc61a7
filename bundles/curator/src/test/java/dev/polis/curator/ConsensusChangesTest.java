package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.fixtures.Await;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.cluster.JoinConsensusRequest;
import dev.polis.wire.cluster.LeaveConsensusRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.MembershipGrpc.MembershipBlockingV2Stub;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.UpdateNodeStatusRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Leads a node into etcd and out of it over gRPC, with members of etcd in memory. */
@Timeout(120)
class ConsensusChangesTest {

  private CuratorFixture leader;
  private CuratorFixture member;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws Exception {
    leader = CuratorFixture.leading();
    member = CuratorFixture.idle();
    member.followWithoutRecords(leader);
    channel =
        RpcClients.authenticated(member.credentials().tls(), RpcTrust.cluster(leader.clusterCa()))
            .dial(leader.address());
  }

  @AfterEach
  void stop() throws Exception {
    channel.shutdownNow();
    member.close();
    leader.close();
  }

  private MembershipBlockingV2Stub membership() {
    return MembershipGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private JoinConsensusRequest joining() {
    return JoinConsensusRequest.newBuilder()
        .setPeerUrl("https://" + member.address().getAddress().getHostAddress() + ":7834")
        .build();
  }

  private void role(boolean wanted) throws Exception {
    leader
        .management()
        .updateNodeRoles(
            UpdateNodeRolesRequest.newBuilder()
                .setId(member.id().text())
                .setConsensusMember(wanted)
                .build());
  }

  private void reportAddress() throws Exception {
    CuratorGrpc.newBlockingV2Stub(channel)
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .updateNodeStatus(
            UpdateNodeStatusRequest.newBuilder()
                .setNodeId(member.id().text())
                .setStatus(
                    NodeStatus.newBuilder()
                        .setExternalAddress(member.address().getAddress().getHostAddress()))
                .build());
  }

  private ConsensusVoter voter(CuratorFixture node, boolean up) {
    return new ConsensusVoter(node.id().text(), up);
  }

  @Test
  @Tag("attack")
  @DisplayName("CON-04 only a node with the role gets a place in etcd, at its own address")
  void con04_join() throws Exception {
    String noRole =
        CuratorFixture.refused(
            Status.Code.FAILED_PRECONDITION, () -> membership().joinConsensus(joining()));
    assertTrue(noRole.contains("node role add " + member.id().text()), noRole);
    role(true);
    String noAddress =
        CuratorFixture.refused(
            Status.Code.UNAVAILABLE, () -> membership().joinConsensus(joining()));
    assertTrue(noAddress.contains("has reported the address"), noAddress);
    reportAddress();

    assertTrue(membership().joinConsensus(joining()).hasLearner());
    leader.members.standing = new ConsensusStanding.Voter();
    assertTrue(membership().joinConsensus(joining()).hasVoter());
    leader.members.standing = new ConsensusStanding.Removed();
    assertTrue(membership().joinConsensus(joining()).hasRemoved());
  }

  @Test
  @DisplayName("CON-04 a node without the role leaves etcd, one with the role does not")
  void con04_leave() throws Exception {
    leader.members.members =
        List.of(
            new ConsensusMember(leader.id().text(), "a", "c", List.of(), List.of(), false),
            new ConsensusMember(member.id().text(), "b", "c", List.of(), List.of(), false));
    role(true);
    CuratorFixture.refused(
        Status.Code.FAILED_PRECONDITION,
        () -> membership().leaveConsensus(LeaveConsensusRequest.getDefaultInstance()));
    assertEquals(List.of(), leader.members.expelled);

    leader.members.voters = List.of(voter(leader, true), voter(member, true));
    role(false);
    membership().leaveConsensus(LeaveConsensusRequest.getDefaultInstance());
    assertTrue(leader.members.expelled.contains("b"), leader.members.expelled.toString());
  }

  @Test
  @DisplayName("CON-04 a role is kept if the other voters would have no quorum")
  void con04_quorum() throws Exception {
    role(true);
    leader.members.voters =
        List.of(voter(leader, false), voter(member, true), new ConsensusVoter("third", true));
    String stray = CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> role(false));
    assertTrue(stray.contains("node third leaves etcd now"), stray);

    leader.members.voters = List.of(voter(leader, false), voter(member, true));
    String refused = CuratorFixture.refused(Status.Code.FAILED_PRECONDITION, () -> role(false));
    assertTrue(
        refused.contains("1 of 2 voters up") && refused.contains("may go, no other may"), refused);
  }

  @Test
  @DisplayName("CUR-18 the leader removes the member of a node that lost its role while it was off")
  void cur18_off() throws Exception {
    leader.members.members =
        List.of(
            new ConsensusMember(leader.id().text(), "a", "c", List.of(), List.of(), false),
            new ConsensusMember(member.id().text(), "b", "c", List.of(), List.of(), false));
    Await.until(
        CuratorFixture.SOON.plusSeconds(10),
        "the leader to remove the member",
        () -> leader.members.expelled.contains("b"));
  }
}
