package dev.polis.curator.api;

import dev.polis.api.consensus.ConsensusVoter;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Decides whether a voter may leave etcd, so that the others keep a quorum. */
final class QuorumRules {

  private QuorumRules() {}

  /**
   * Returns the reason why a node may not leave etcd; empty if it may.
   *
   * @param voters the voters of etcd, each with whether it is up
   * @param wanted the nodes that have the role ConsensusMember
   */
  static Optional<String> problem(String node, List<ConsensusVoter> voters, Set<String> wanted) {
    Optional<ConsensusVoter> own =
        voters.stream().filter(voter -> voter.name().equals(node)).findFirst();
    if (own.isEmpty()) {
      return Optional.empty();
    }
    Optional<String> leaving =
        voters.stream()
            .map(ConsensusVoter::name)
            .filter(name -> !name.equals(node) && !wanted.contains(name))
            .findFirst();
    if (leaving.isPresent()) {
      return Optional.of(
          "node %s leaves etcd now, and only one node at a time can; try again in some seconds"
              .formatted(leaving.get()));
    }
    return problemOfRest(node, own.get().up(), voters);
  }

  private static Optional<String> problemOfRest(
      String node, boolean up, List<ConsensusVoter> voters) {
    int rest = voters.size() - 1;
    if (rest == 0) {
      return Optional.of(only(node));
    }
    List<String> down =
        voters.stream().filter(voter -> !voter.up()).map(ConsensusVoter::name).toList();
    int upNow = voters.size() - down.size();
    int upThen = up ? upNow - 1 : upNow;
    int needed = rest / 2 + 1;
    if (upThen >= needed) {
      return Optional.empty();
    }
    return Optional.of(
        "%d of %d voters up: without node %s, %d of %d would be up, and etcd needs %d; %s may go, no other may: start that node, or take the role from it first"
            .formatted(
                upNow, voters.size(), node, upThen, rest, needed, String.join(" and ", down)));
  }

  /** Returns the refusal for the only voter. */
  static String only(String node) {
    return "node %s is the only ConsensusMember; without it the cluster would lose its records"
        .formatted(node);
  }
}
