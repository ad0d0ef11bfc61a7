package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogPayload;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** Lets a member join the etcd of another one, as the role server of its node does. */
final class Joining {

  private Joining() {}

  /** Asks the leader once. */
  static ConsensusStanding ask(Instance leader, ConsensusHarness node, Instance joining)
      throws InterruptedException {
    return leader.consensus.admit(node.identity.node(), joining.consensus.candidate());
  }

  /** Asks until the leader has an answer: its etcd starts again before it gets company. */
  static ConsensusStanding admit(Instance leader, ConsensusHarness node, Instance joining)
      throws Exception {
    AtomicReference<ConsensusStanding> standing = new AtomicReference<>();
    AtomicReference<String> obstacle = new AtomicReference<>("none");
    Await.until(
        ConsensusHarness.PATIENCE,
        "an answer to a node that joins",
        () -> {
          try {
            standing.set(ask(leader, node, joining));
            return true;
          } catch (ConsensusException notNow) {
            obstacle.set(notNow.getMessage());
            return false;
          }
        },
        obstacle::get);
    return standing.get();
  }

  /** Makes one step of a node; returns its standing. */
  static ConsensusStanding step(Instance leader, ConsensusHarness node, Instance joining)
      throws Exception {
    ConsensusStanding standing = admit(leader, node, joining);
    switch (standing) {
      case ConsensusStanding.Invited(ConsensusInvitation invitation) ->
          joining.consensus.join(node.identity, invitation);
      case ConsensusStanding.Removed _ -> joining.consensus.discard();
      case ConsensusStanding.Learner _, ConsensusStanding.Voter _ ->
          joining.consensus.startExisting(node.identity);
    }
    return standing;
  }

  /**
   * Waits until the record on a member's disk, which its next start reads, names another member.
   */
  static void awaitRecorded(ConsensusHarness node, ConsensusHarness other) throws Exception {
    String named = other.identity.node().text() + "=";
    Await.until(
        ConsensusHarness.PATIENCE.multipliedBy(2),
        "the record of a member to name the other one",
        () -> peers(node).stream().anyMatch(peer -> peer.startsWith(named)),
        () -> peers(node));
  }

  private static List<String> peers(ConsensusHarness node) throws Exception {
    return ConsensusRecord.read(node.files().member()).orThrow().peers();
  }

  /** Makes all steps of a node until it has a vote; returns the id of its member. */
  static String becomeVoter(Instance leader, ConsensusHarness node, Instance joining)
      throws Exception {
    Await.until(
        ConsensusHarness.PATIENCE.multipliedBy(2),
        "another member to have a vote",
        () -> step(leader, node, joining) instanceof ConsensusStanding.Voter,
        () ->
            "%s, log of its etcd: %s"
                .formatted(
                    joining.consensus.status().peek().orElseThrow().text(),
                    node.etcdLog().stream().map(LogPayload.Leveled::message).toList()));
    return joining.consensus.awaitRunning(ConsensusHarness.PATIENCE).memberId();
  }
}
