package dev.polis.curator.api;

import com.google.protobuf.MessageLite;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.NodeId;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.Node;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;

/**
 * Takes nodes out of the cluster. A call that a change of leader interrupts may be repeated, and
 * continues. Thread-safe.
 *
 * <p>The record of a member changes first: from then on the leader issues no certificate to the
 * node. So the revocation that follows misses none.
 */
final class NodeRemoval {

  /**
   * Holds the safety rules that an operator has switched off.
   *
   * @param hasRoles deletes a node although it has roles
   * @param notDecommissioned deletes a member that was not decommissioned
   */
  record Bypass(boolean hasRoles, boolean notDecommissioned) {}

  private final NodeId self;
  // One at a time, so that two calls do not remove the last two nodes that keep the records.
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * @param self the node that leads, which does not remove itself
   */
  NodeRemoval(NodeId self) {
    this.self = self;
  }

  /**
   * Ends the membership of a node without roles: its certificates are revoked, and the cluster's
   * half of its volume key is gone. The record stays.
   */
  void decommission(LeaderTerm term, String id) throws InterruptedException {
    turn.lockInterruptibly();
    try {
      requireReplaceable(term, id);
      term.records().updateNode(id, NodeRemoval::requested);
      term.pki().revokeNode(NodeId.parse(id));
      term.records().updateNode(id, NodeRemoval::decommissioned);
    } finally {
      turn.unlock();
    }
  }

  /** Deletes the record of a node; a member loses its certificates first. */
  <A extends MessageLite> A delete(LeaderTerm term, String id, Bypass bypass, A answer)
      throws InterruptedException {
    turn.lockInterruptibly();
    try {
      Node node = term.records().requireNode(id);
      if (isCandidate(node)) {
        return term.records().deleteNode(node, NodeRemoval::requireCandidate, answer);
      }
      requireReplaceable(term, id);
      term.records().updateNode(id, present -> leaving(present, bypass));
      term.pki().revokeNode(NodeId.parse(id));
      return term.records().deleteNode(node, present -> {}, answer);
    } finally {
      turn.unlock();
    }
  }

  /**
   * Revokes all certificates of a node for good. Its record stays and says that the node has left,
   * so that the controllers of Kubernetes take the rights of its programs, too.
   *
   * @throws dev.polis.rpc.RpcException if the cluster would stop without the node
   */
  void revoke(LeaderTerm term, NodeId id) throws InterruptedException {
    turn.lockInterruptibly();
    try {
      if (isMember(term, id)) {
        requireReplaceable(term, id.text());
        term.records().updateNode(id.text(), NodeRemoval::decommissioned);
      }
      term.pki().revokeNode(id);
    } finally {
      turn.unlock();
    }
  }

  /** Refuses the revocation of a member without which the cluster would stop. */
  void requireRevocable(LeaderTerm term, NodeId id) throws InterruptedException {
    if (isMember(term, id)) {
      requireReplaceable(term, id.text());
    }
  }

  private static boolean isMember(LeaderTerm term, NodeId id) throws InterruptedException {
    return term.records().node(id.text()).filter(node -> !isCandidate(node)).isPresent();
  }

  /** Refuses the removal of a node without which the cluster would stop. */
  private void requireReplaceable(LeaderTerm term, String id) throws InterruptedException {
    List<Node> nodes = term.records().nodes();
    long keepers = nodes.stream().filter(node -> node.getRoles().hasConsensusMember()).count();
    Node node = term.records().requireNode(id);
    if (node.getRoles().hasConsensusMember()) {
      throw keepers == 1
          ? Refusal.precondition(
              "node %s is the only ConsensusMember; without it the cluster would lose its records",
              id)
          : Refusal.precondition(
              "node %s is a member of etcd and would stay one; remove that role first: polisctl node"
                  + " role remove %s %s",
              id, id, RoleName.CONSENSUS_MEMBER.text());
    }
    if (id.equals(self.text())) {
      throw Refusal.precondition(
          "node %s leads the cluster's curator and cannot remove itself; stop it, and repeat the"
              + " command when another node leads",
          id);
    }
  }

  private static boolean isCandidate(Node node) {
    return node.getFsmState() == NodeState.NODE_STATE_NEW
        || node.getFsmState() == NodeState.NODE_STATE_STANDBY;
  }

  /** Refuses a node that has become a member since it was read. */
  private static void requireCandidate(Node node) {
    if (!isCandidate(node)) {
      throw Refusal.precondition(
          "node %s has just become %s; decommission it first: polisctl node decommission %s",
          node.getId(), node.getFsmState(), node.getId());
    }
  }

  private static Node requested(Node node) {
    return switch (node.getFsmState()) {
      case NODE_STATE_UP -> {
        requireNoRoles(node, "");
        yield withState(node, NodeState.NODE_STATE_DECOMMISSION_REQUESTED);
      }
      case NODE_STATE_DECOMMISSION_REQUESTED,
          NODE_STATE_DECOMMISSIONING,
          NODE_STATE_DECOMMISSIONED ->
          node;
      default ->
          throw Refusal.precondition(
              "node %s is %s and has no certificate yet; delete it instead: polisctl node delete %s",
              node.getId(), node.getFsmState(), node.getId());
    };
  }

  private static Node leaving(Node node, Bypass bypass) {
    if (!bypass.hasRoles()) {
      requireNoRoles(node, ", or delete the node with --bypass-has-roles if its machine is lost");
    }
    if (NodeRecords.isUp(node) && !bypass.notDecommissioned()) {
      throw Refusal.precondition(
          "node %s is a member; decommission it first: polisctl node decommission %s, or delete it"
              + " with --bypass-not-decommissioned if its machine is lost",
          node.getId(), node.getId());
    }
    return node.getFsmState() == NodeState.NODE_STATE_DECOMMISSIONED
        ? node
        : withState(node, NodeState.NODE_STATE_DECOMMISSION_REQUESTED);
  }

  private static void requireNoRoles(Node node, String otherwise) {
    List<RoleName> roles = List.copyOf(RoleRecord.names(node.getRoles()));
    if (!roles.isEmpty()) {
      String names = roles.stream().map(RoleName::text).collect(Collectors.joining(" "));
      throw Refusal.precondition(
          "node %s has roles: %s; remove them first: polisctl node role remove %s %s%s",
          node.getId(), names, node.getId(), names, otherwise);
    }
  }

  private static Node withState(Node node, NodeState state) {
    return node.toBuilder().setFsmState(state).build();
  }

  /** Clears the half of the volume key, and the address, at which no node expects it any more. */
  private static Node decommissioned(Node node) {
    return withState(node, NodeState.NODE_STATE_DECOMMISSIONED).toBuilder()
        .clearClusterUnlockKey()
        .clearStatus()
        .build();
  }
}
