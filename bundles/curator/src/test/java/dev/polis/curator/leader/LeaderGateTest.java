package dev.polis.curator.leader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.rpc.RpcException;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LeaderGateTest {

  private static final Duration NO_PATIENCE = Duration.ofMillis(1);

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
        "this curator does not lead and did not win an election within 0 s;"
            + " ask for the leader again",
        refusal.getMessage());
  }

  private static RpcException refusal(ConsensusStatus status) {
    LeaderGate gate =
        new LeaderGate(
            new MutableValue<>(status),
            new MutableValue<>(new CuratorStatus.Campaigning("the election begins")),
            NO_PATIENCE);
    return assertThrows(RpcException.class, gate::require);
  }
}
