package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import java.util.List;
import java.util.Optional;

/** Decides whether a node may reboot now. */
final class UpdatePreflight {

  private static final String WORKER = "KubernetesWorker";

  private UpdatePreflight() {}

  /**
   * Refuses a reboot for which {@link #problem} finds a reason.
   *
   * @return a remark for the operator; empty without one
   */
  static Optional<String> require(Session session, Node node, List<Node> nodes, boolean stopPods)
      throws InterruptedException {
    List<Member> members =
        session
            .call(() -> session.etcd().members(MembersRequest.getDefaultInstance()))
            .getMembersList();
    problem(node, nodes, members, stopPods)
        .ifPresent(
            problem -> {
              throw new CtlException(problem);
            });
    return losesQuorum(node, members)
        ? Optional.of("the cluster keeps no records while this node reboots")
        : Optional.empty();
  }

  /**
   * Returns why a node may not reboot now, with the remedy; empty if it may.
   *
   * @param nodes all nodes of the cluster
   * @param members the members of etcd
   * @param stopPods whether Pods of the node may stop
   */
  static Optional<String> problem(
      Node node, List<Node> nodes, List<Member> members, boolean stopPods) {
    Optional<Node> silent =
        nodes.stream()
            .filter(other -> !other.getId().equals(node.getId()))
            .filter(other -> other.getHealth() == Node.Health.HEALTH_HEARTBEAT_TIMEOUT)
            .findFirst();
    if (silent.isPresent()) {
      return Optional.of(
          "node %s is silent, and only one node at a time may be away; wait until it is back, or delete its record"
              .formatted(silent.get().getId()));
    }
    if (!stopPods && NodeRows.has(node, WORKER)) {
      return Optional.of(
          "node %1$s runs Pods; \"node role remove %1$s %2$s\" drains it, and \"node role add\" gives the role back afterwards; --stop-pods stops them with the node"
              .formatted(node.getId(), WORKER));
    }
    return quorum(node, members);
  }

  private static Optional<String> quorum(Node node, List<Member> members) {
    List<Member> voters = members.stream().filter(member -> !member.getLearner()).toList();
    if (voters.stream().noneMatch(voter -> voter.getName().equals(node.getId()))) {
      return Optional.empty();
    }
    long up =
        voters.stream()
            .filter(voter -> voter.getError().isEmpty())
            .filter(voter -> !voter.getName().equals(node.getId()))
            .count();
    int needed = voters.size() / 2 + 1;
    // One or two voters have no quorum without this one, whatever the operator waits for.
    if (up >= needed || voters.size() < 3 && up == voters.size() - 1) {
      return Optional.empty();
    }
    return Optional.of(
        "without node %s, %d of %d voters of etcd would be up, and it needs %d; start the others first"
            .formatted(node.getId(), up, voters.size(), needed));
  }

  /** Returns whether the cluster keeps no records while a node reboots. */
  static boolean losesQuorum(Node node, List<Member> members) {
    List<Member> voters = members.stream().filter(member -> !member.getLearner()).toList();
    return voters.size() < 3
        && voters.stream().anyMatch(voter -> voter.getName().equals(node.getId()));
  }
}
