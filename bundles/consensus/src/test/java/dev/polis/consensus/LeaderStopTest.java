package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.fixtures.Tier;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Stops the leading one of three members of etcd in order, while the others are written to. */
@Tag("full")
@Tag("longer")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class LeaderStopTest {

  private static final int ROUNDS = Integer.getInteger("polis.times", Tier.pick(1, 1, 20));

  /** The writers of each member: several make it likely that one sends while the leader changes. */
  private static final int WRITERS = 4;

  private static final Duration PROMISED = Duration.ofSeconds(2);

  private final List<ConsensusHarness> nodes = new ArrayList<>();
  private final List<Instance> members = new ArrayList<>();

  @AfterEach
  void close() throws IOException {
    for (ConsensusHarness each : nodes) {
      each.close();
    }
  }

  @Test
  @DisplayName(
      "the leading member stops in order, and each write through the others is answered at its first attempt within 2 s")
  void leaderStops() throws Exception {
    for (int i = 0; i < 3; i++) {
      nodes.add(new ConsensusHarness());
      members.add(nodes.get(i).instance());
    }
    members.getFirst().startNew();
    for (int i = 1; i < nodes.size(); i++) {
      Joining.becomeVoter(members.getFirst(), nodes.get(i), members.get(i));
    }
    for (int round = 0; round < ROUNDS; round++) {
      List<Instance> others = new ArrayList<>(members);
      Instance leading = others.remove(awaitLeader());
      MachineSpeed speed = MachineSpeed.measure();
      List<Writer> ended =
          Writer.around(
              others,
              WRITERS,
              _ -> {
                long begin = System.nanoTime();
                leading.consensus.stop();
                System.out.printf("stopped in %d ms%n", (System.nanoTime() - begin) / 1_000_000);
              });
      for (Writer each : ended) {
        each.requireAnswers(speed.allowed(PROMISED));
      }
      leading.startExisting();
    }
  }

  /** Returns the number of the leading member, once all answer. */
  private int awaitLeader() throws Exception {
    AtomicInteger leader = new AtomicInteger(-1);
    Await.until(
        ConsensusHarness.PATIENCE,
        "all members of etcd to answer, and one of them to lead",
        () -> {
          leader.set(-1);
          for (int i = 0; i < members.size(); i++) {
            try {
              ConsensusOverview now = members.get(i).consensus.overview();
              if (now.leaderId().equals(now.members().getFirst().id())) {
                leader.set(i);
              }
              if (!members.get(i).consensus.voters().stream().allMatch(ConsensusVoter::up)) {
                return false;
              }
            } catch (ConsensusException notYet) {
              return false;
            }
          }
          return leader.get() >= 0;
        });
    return leader.get();
  }
}
