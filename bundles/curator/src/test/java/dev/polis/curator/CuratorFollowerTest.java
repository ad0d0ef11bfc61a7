package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.curator.CuratorStatus;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.Lease;
import dev.polis.fixtures.Await;
import dev.polis.health.HealthCondition;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.LeaderHint;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import dev.polis.wire.curator.WatchRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs two curators on one etcd, of which one leads. */
@Timeout(120)
class CuratorFollowerTest {

  private static RpcClients as(NodeCredentials node) {
    return RpcClients.authenticated(node.tls(), RpcTrust.cluster(node.ca()));
  }

  @Test
  @DisplayName("a follower answers with the address at which the leader can be reached")
  void followerNamesTheLeadersAddress() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle()) {
      follower.follow(leader);

      GetCurrentLeaderResponse answer = leaders(follower).read();
      assertEquals(leader.id.text(), answer.getLeaderNodeId());
      assertEquals(follower.id.text(), answer.getThisNodeId());
      assertEquals(leader.address().getAddress().getHostAddress(), answer.getLeaderHost());
      assertEquals(leader.address().getPort(), answer.getLeaderPort());
    }
  }

  @Test
  @DisplayName("a follower refuses an operator's call at once, and names the leader to the client")
  void followerRefusesAtOnce() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle()) {
      follower.follow(leader);

      assertEquals(
          Optional.of(leader.endpoint()), LeaderHint.of(follower.refusalAsOwnerOf(leader)));
    }
  }

  @Test
  @DisplayName("a leader whose address changes keeps leading, and all streams name the new one")
  void aLeaderThatMoves() throws Exception {
    String moved = "127.9.9.9";
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle()) {
      follower.follow(leader);
      CuratorStatus leading = leader.curator.status().peek().orElseThrow();
      BlockingClientCall<?, GetCurrentLeaderResponse> atLeader = leaders(leader);
      BlockingClientCall<?, GetCurrentLeaderResponse> atFollower = leaders(follower);
      assertEquals(leader.id.text(), atLeader.read().getLeaderNodeId());
      assertEquals(leader.id.text(), atFollower.read().getLeaderNodeId());

      leader.move(InetAddress.ofLiteral(moved));

      assertEquals(moved, atLeader.read().getLeaderHost());
      assertEquals(moved, atFollower.read().getLeaderHost());
      assertEquals(leading, leader.curator.status().peek().orElseThrow());
    }
  }

  private static BlockingClientCall<?, GetCurrentLeaderResponse> leaders(CuratorFixture curator) {
    return CuratorLocalGrpc.newBlockingV2Stub(curator.asNobody())
        .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
        .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance());
  }

  @Test
  @DisplayName("the resolver finds the leader by asking a follower, and goes with the leadership")
  void resolverFollowsOurCurators() throws Exception {
    try (CuratorFixture follower = CuratorFixture.idle()) {
      try (CuratorFixture leader = CuratorFixture.leading()) {
        follower.follow(leader);
        try (LeaderResolver resolver =
            LeaderResolver.open(
                List.of(follower.endpoint()),
                as(follower.credentials()),
                follower.logs.log("resolver"))) {
          ManagedChannel channel = resolver.channel();
          try {
            ask(channel);
            assertEquals(leader.endpoint(), resolver.leader().peek().orElseThrow());

            leader.resign();

            ask(channel);
            assertEquals(follower.endpoint(), resolver.leader().peek().orElseThrow());
          } finally {
            channel.shutdownNow();
          }
        }
      }
    }
  }

  /** Begins a watch, which only the leader answers. */
  private static void ask(ManagedChannel channel) throws Exception {
    long deadline = System.nanoTime() + CuratorFixture.SOON.toNanos();
    while (true) {
      BlockingClientCall<?, ?> watch =
          CuratorGrpc.newBlockingV2Stub(channel)
              .withDeadlineAfter(CuratorFixture.SOON.toSeconds(), TimeUnit.SECONDS)
              .watch(
                  WatchRequest.newBuilder()
                      .setNodesInCluster(WatchRequest.NodesInCluster.getDefaultInstance())
                      .build());
      try {
        assertTrue(watch.read() != null, "the leader ended the watch");
        return;
      } catch (StatusException between) {
        // Between two leaders there is no answer.
        if (System.nanoTime() > deadline) {
          throw between;
        }
      } finally {
        watch.cancel("answered", null);
      }
    }
  }

  @Test
  @DisplayName("a lock that does not name a node is named in status and health until it expires")
  void damagedLockIsWaitedOut() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture second = CuratorFixture.idle();
        EtcdClient records = leader.records()) {
      String garbage = RecordKeys.LEADER.key("0");
      Lease lease = records.leases().grant(CuratorFixture.SOON);
      records.kv().put(garbage, new byte[] {(byte) 0xff}, lease);

      leader.resign();

      second.join(leader);
      Await.value(
          second.curator.status(),
          status -> status.describe().contains(garbage),
          CuratorFixture.SOON,
          "the damaged lock to be named");
      HealthCondition condition =
          CuratorHealth.of(second.curator.status().peek().orElseThrow()).orElseThrow();
      assertTrue(condition.reason().contains(garbage), condition.reason());
      assertTrue(condition.reason().contains("delete it"), condition.reason());
      lease.close();
      Await.value(
          second.curator.status(),
          CuratorStatus.Leading.class::isInstance,
          CuratorFixture.SOON,
          "the election to continue");
    }
  }

  @Test
  @DisplayName("the damaged lock of a leader is repaired without an election")
  void damagedLockOfALeaderIsWrittenAgain() throws Exception {
    try (CuratorFixture leader = CuratorFixture.leading();
        CuratorFixture follower = CuratorFixture.idle();
        EtcdClient records = leader.records()) {
      follower.follow(leader);
      CuratorStatus leading = leader.curator.status().peek().orElseThrow();
      String lock = records.kv().range(RecordKeys.LEADER.range()).keys().getFirst().key();

      records.kv().put(lock, new byte[] {(byte) 0xff});

      Await.value(
          follower.curator.status(),
          status ->
              status instanceof CuratorStatus.Following following
                  && following.leader().equals(leader.id),
          CuratorFixture.SOON,
          "the follower to know the leader again");
      assertEquals(leading, leader.curator.status().peek().orElseThrow());
    }
  }
}
