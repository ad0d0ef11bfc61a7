package dev.polis.ctl.node;

import dev.polis.ctl.node.HealthReport.NodeHealth;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.HealthRoots;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.health.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Tells how many of the nodes that keep a cluster's records serve them, and which node leads.
 *
 * @param lines for people
 */
record VoterHealth(List<String> lines) {

  /** The organ that runs etcd. */
  private static final String CONSENSUS = "consensus";

  /** Stands for a cluster whose nodes were not asked, or of one node. */
  static final VoterHealth NONE = new VoterHealth(List.of());

  VoterHealth {
    lines = List.copyOf(lines);
  }

  boolean isKnown() {
    return !lines.isEmpty();
  }

  /**
   * Asks the leader for the members of etcd.
   *
   * @param session with the leader
   * @param nodes what each node says of itself
   */
  static VoterHealth of(Session session, List<NodeHealth> nodes) throws InterruptedException {
    List<String> lines = new ArrayList<>();
    try {
      List<Member> members =
          session
              .call(() -> session.etcd().members(MembersRequest.getDefaultInstance()))
              .getMembersList();
      lines.addAll(count(members, nodes));
    } catch (CtlException unknown) {
      lines.add("voters: unknown: " + unknown.getMessage());
    }
    lines.add("leader: " + leader(session.host(), nodes));
    return new VoterHealth(lines);
  }

  /** Returns the node that has the address at which the leader answered. */
  private static String leader(String host, List<NodeHealth> nodes) {
    return nodes.stream()
        .filter(node -> NodeRows.address(node.record()).equals(host))
        .findFirst()
        .map(node -> "%s at %s".formatted(node.id(), host))
        .orElse(host);
  }

  private static List<String> count(List<Member> members, List<NodeHealth> nodes) {
    List<String> others = new ArrayList<>();
    int voters = 0;
    int up = 0;
    for (Member member : members) {
      Optional<NodeHealth> node =
          nodes.stream().filter(each -> each.id().equals(member.getName())).findFirst();
      String name = member.getName().isEmpty() ? "a member that never started" : member.getName();
      if (member.getLearner()) {
        others.add(name + " is a learner: it copies the records, and is no voter yet");
        continue;
      }
      voters++;
      Optional<Status> serves = node.flatMap(VoterHealth::consensus);
      if (serves.filter(HealthRoots::works).isPresent()) {
        if (node.filter(VoterHealth::isSilent).isPresent()) {
          others.add(
              "voter %s is cut off: it answers here, but the leader does not hear it; look at the network between them"
                  .formatted(name));
        } else {
          up++;
        }
      } else {
        others.add(
            serves
                .map(status -> "voter %s is not up: %s".formatted(name, status.getReason()))
                .orElse("voter %s: unknown, since its node does not answer".formatted(name)));
      }
    }
    List<String> lines = new ArrayList<>();
    lines.add("voters up: %d of %d; %d must be up".formatted(up, voters, voters / 2 + 1));
    lines.addAll(others);
    return lines;
  }

  /** Returns whether the leader misses the heartbeats of a node. */
  private static boolean isSilent(NodeHealth node) {
    return node.record().getHealth() == Node.Health.HEALTH_HEARTBEAT_TIMEOUT;
  }

  private static Optional<Status> consensus(NodeHealth node) {
    return node.health().getStatusesList().stream()
        .filter(status -> status.getName().equals(CONSENSUS))
        .findFirst();
  }
}
