package dev.polis.curator.leader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.RpcException;
import dev.polis.supervision.SupervisionTree;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class LeaderGateTest {

  private static final Duration NO_PATIENCE = Duration.ofMillis(1);
  private static final Duration FOR_EVER = Duration.ofDays(1);
  private static final NodeId LEADER = NodeId.parse(NodeId.PREFIX + "0".repeat(32));

  static List<ConsensusStatus> troubles() {
    return List.of(
        new ConsensusStatus.Failed("the disk is full; free some space"),
        new ConsensusStatus.Starting("etcd to answer"),
        new ConsensusStatus.Stopped(),
        new ConsensusStatus.Running("n", "1", "2", List.of(), List.of("NOSPACE at 1")));
  }

  @ParameterizedTest
  @MethodSource("troubles")
  void givenNoLeaderAndTroubleOfConsensus_thenTheRefusalNamesTheTrouble(ConsensusStatus trouble) {
    RpcException refusal = refusal(trouble);
    assertEquals(Status.Code.UNAVAILABLE, refusal.code());
    assertTrue(refusal.getMessage().contains(trouble.text()), refusal.getMessage());
  }

  @Test
  void givenNoLeaderWhileConsensusRuns_thenTheRefusalDoesNotMentionIt() {
    RpcException refusal =
        refusal(new ConsensusStatus.Running("n", "1", "2", List.of(), List.of()));
    assertEquals(
        "this curator does not lead, and no leader was known within 0 s; ask for the leader again",
        refusal.getMessage());
  }

  private static RpcException refusal(ConsensusStatus status) {
    return refusal(gate(status, new CuratorStatus.Campaigning("the election begins"), NO_PATIENCE));
  }

  private static RpcException refusal(LeaderGate gate) {
    return assertThrows(RpcException.class, gate::require);
  }

  private static LeaderGate gate(
      ConsensusStatus consensus, CuratorStatus curator, Duration patience) {
    return new LeaderGate(new MutableValue<>(consensus), new MutableValue<>(curator), patience);
  }

  private static LeaderGate follower(CuratorStatus curator, Duration patience) {
    return gate(
        new ConsensusStatus.Running("n", "1", "2", List.of(), List.of()), curator, patience);
  }

  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.7", "2001:db8::7"})
  @Timeout(30)
  @DisplayName("while another node leads, a call is refused without a wait, with the leader")
  void refusedAtOnce(String host) {
    NodeEndpoint leader =
        new NodeEndpoint(LEADER, new InetSocketAddress(InetAddress.ofLiteral(host), 7835));

    RpcException refusal =
        refusal(follower(new CuratorStatus.Following(LEADER, host, 7835), FOR_EVER));

    assertEquals(Status.Code.UNAVAILABLE, refusal.code());
    assertEquals(Optional.of(leader), refusal.leader());
    assertEquals(
        "this curator does not lead; ask the leader: %s at %s"
            .formatted(LEADER, HostPort.of(leader.address())),
        refusal.getMessage());
    assertTrue(refusal.retryAfter().isPresent(), "a client of an earlier version does not retry");
  }

  @Test
  @Timeout(30)
  @DisplayName("a node without records refuses in the same way, and waits while no leader is known")
  void withoutRecords() {
    LeaderGate gate = follower(new CuratorStatus.Following(LEADER, "192.0.2.7", 7835), FOR_EVER);
    gate.refuse();
    RpcException refusal = refusal(gate);
    assertEquals(LEADER, refusal.leader().orElseThrow().node());
    assertTrue(refusal.getMessage().contains("keeps no records"), refusal.getMessage());

    LeaderGate lost =
        gate(
            new ConsensusStatus.Stopped(),
            new CuratorStatus.Campaigning("no curator has named a leader for 10 s"),
            NO_PATIENCE);
    lost.refuse();
    RpcException none = refusal(lost);
    assertEquals(Status.Code.UNAVAILABLE, none.code());
    assertEquals(Optional.empty(), none.leader());
    assertTrue(
        none.getMessage().contains("no curator has named a leader for 10 s"), none.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"'', 7835", "node.example, 7835", "192.0.2.7, 0"})
  @DisplayName("a leader without an address is waited for, and no client is sent to it")
  void leaderWithoutAddress(String host, int port) {
    RpcException refusal =
        refusal(follower(new CuratorStatus.Following(LEADER, host, port), NO_PATIENCE));
    assertEquals(Optional.empty(), refusal.leader());
    assertTrue(
        refusal.getMessage().contains(LEADER + " leads, and has published no address"),
        refusal.getMessage());
  }

  @Test
  @Timeout(60)
  @DisplayName("a call that waits for an election is refused as soon as another node has won it")
  void electionEnds() throws Exception {
    MutableValue<CuratorStatus> status =
        new MutableValue<>(new CuratorStatus.Campaigning("the election begins"));
    LeaderGate gate =
        new LeaderGate(
            new MutableValue<>(new ConsensusStatus.Running("n", "1", "2", List.of(), List.of())),
            status,
            FOR_EVER);
    LogTree logs = LogTree.create();
    try (SupervisionTree tree = SupervisionTree.open(logs);
        ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
      tree.organ("curator").run("gate", gate::run);
      Future<RpcException> waits = callers.submit(() -> refusal(gate));
      assertThrows(TimeoutException.class, () -> waits.get(50, TimeUnit.MILLISECONDS));

      status.set(new CuratorStatus.Following(LEADER, "192.0.2.7", 7835));

      assertEquals(LEADER, waits.get().leader().orElseThrow().node());
    }
  }

  @Test
  @Timeout(30)
  @DisplayName("an instance that another one replaces sends its callers to that one, not away")
  void dismissed() {
    LeaderGate gate = follower(new CuratorStatus.Following(LEADER, "192.0.2.7", 7835), FOR_EVER);
    gate.dismiss();
    RpcException refusal = refusal(gate);
    assertEquals(Optional.empty(), refusal.leader());
    assertTrue(refusal.getMessage().contains("another version replaces"), refusal.getMessage());
  }
}
