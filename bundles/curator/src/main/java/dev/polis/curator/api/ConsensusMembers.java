package dev.polis.curator.api;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.stored.Node;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;

/**
 * Brings the members of etcd to what the records want, one change at a time. The records say which
 * nodes have the role; etcd's own list says how far each of them is. No third place holds a state,
 * so a crash between two steps leaves nothing behind that the next call does not see. Thread-safe.
 */
public final class ConsensusMembers {

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Consensus consensus;
  private final ReentrantLock changes = new ReentrantLock();

  public ConsensusMembers(Consensus consensus) {
    this.consensus = consensus;
  }

  /** Makes one change of the members or of a role that has members. */
  @FunctionalInterface
  interface Change<T> {
    T make() throws InterruptedException;
  }

  /**
   * Makes a change while no other one is made.
   *
   * @throws RpcException UNAVAILABLE if another one is made, or etcd does not accept it now
   */
  <T> T oneAtATime(Change<T> change) throws InterruptedException {
    if (!changes.tryLock()) {
      throw RpcException.unavailable("another change of etcd's members is in progress", RETRY);
    }
    try {
      return change.make();
    } catch (ConsensusException notNow) {
      throw RpcException.unavailable(notNow.getMessage(), RETRY);
    } finally {
      changes.unlock();
    }
  }

  /** Brings a node with the role one step closer to a vote. */
  ConsensusStanding admit(NodeId node, ConsensusCandidate candidate) {
    return ApiCalls.run(() -> oneAtATime(() -> consensus.admit(node, candidate)));
  }

  /**
   * Refuses to take the role from a node if etcd could not live without that node.
   *
   * @throws RpcException FAILED_PRECONDITION, with the nodes that may go
   */
  void requireRemovable(RecordSnapshot records, String node) throws InterruptedException {
    Set<String> wanted = wanted(records);
    if (wanted.equals(Set.of(node))) {
      throw Refusal.precondition("%s", QuorumRules.only(node));
    }
    if (wanted.contains(node)) {
      QuorumRules.problem(node, consensus.voters(), wanted)
          .ifPresent(
              problem -> {
                throw Refusal.precondition("%s", problem);
              });
    }
  }

  /** Removes the member of a node without the role. */
  void expel(NodeId node) {
    ApiCalls.run(
        () ->
            oneAtATime(
                () -> {
                  for (ConsensusMember member : consensus.overview().members()) {
                    if (member.name().equals(node.text())) {
                      consensus.expel(member.id());
                    }
                  }
                  return node;
                }));
  }

  /**
   * Removes one member whose node has no role, if there is one: its node was off when it lost the
   * role, or a leader ended between two steps.
   *
   * @param self this node, whose member another leader removes
   * @return whether there was none
   */
  public boolean reconcile(RecordSnapshot records, NodeId self) throws InterruptedException {
    Set<String> kept = new HashSet<>(records.nodeIds());
    // A damaged record says nothing about the role.
    records.nodes().forEach(readable -> kept.remove(readable.getId()));
    kept.addAll(wanted(records));
    kept.add(self.text());
    Set<String> addresses =
        records.nodes().stream()
            .filter(node -> kept.contains(node.getId()))
            .map(node -> node.getStatus().getExternalAddress())
            .collect(Collectors.toSet());
    return oneAtATime(
        () -> {
          Optional<ConsensusMember> gone = surplus(consensus.overview().members(), kept, addresses);
          if (gone.isPresent()) {
            consensus.expel(gone.get().id());
          }
          return gone.isEmpty();
        });
  }

  /**
   * Returns a member that belongs to no kept node.
   *
   * @param kept the ids of nodes whose members stay
   * @param addresses their addresses, by which members that never started are known
   */
  static Optional<ConsensusMember> surplus(
      List<ConsensusMember> members, Set<String> kept, Set<String> addresses) {
    return members.stream()
        .filter(
            member ->
                member.name().isEmpty()
                    ? member.peerUrls().stream()
                        .map(ReportedAddress::ofUrl)
                        .noneMatch(addresses::contains)
                    : !kept.contains(member.name()))
        .findFirst();
  }

  /** Returns the nodes with the role. */
  public static Set<String> wanted(RecordSnapshot records) {
    return records.nodes().stream()
        .filter(node -> NodeRecords.isUp(node) && node.getRoles().hasConsensusMember())
        .map(Node::getId)
        .collect(Collectors.toSet());
  }
}
