package dev.polis.curator.api;

import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.roles.Role;
import dev.polis.wire.roles.RoleChange;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Applies a request to change roles to a node's record.
 *
 * @param request the request of the operator
 * @param others the roles without a field of their own, each with its wanted state
 */
public record RoleChanges(UpdateNodeRolesRequest request, SortedMap<RoleName, Boolean> others) {

  /** The most such roles of a node, which bounds the size of its record; no node runs so many. */
  public static final int MOST_OTHERS = 64;

  /** Checks the names in a request, and names the wrong one in the refusal. */
  static RoleChanges of(UpdateNodeRolesRequest request) {
    SortedMap<RoleName, Boolean> others = new TreeMap<>();
    for (RoleChange change : request.getOthersList()) {
      if (others.put(nameOf(change), change.getWanted()) != null) {
        throw Refusal.invalid("the request has role %s twice; give it once", change.getName());
      }
    }
    return new RoleChanges(request, others);
  }

  private static RoleName nameOf(RoleChange change) {
    RoleName.problemOf(change.getName())
        .ifPresent(
            problem -> {
              throw Refusal.invalid("role \"%s\" %s", change.getName(), problem);
            });
    RoleName name = new RoleName(change.getName());
    if (RoleRecord.hasOwnField(name)) {
      throw Refusal.invalid("role %s has a field of its own in the request; set that field", name);
    }
    return name;
  }

  /**
   * Returns the changed record, or refuses impossible changes.
   *
   * @param worker the node that has the role KubernetesWorker; empty if none has it
   */
  Node apply(Node node, Optional<String> worker) {
    if (!NodeRecords.isUp(node)) {
      throw Refusal.precondition(
          "node %s is %s; only a node that is UP can have roles", node.getId(), node.getFsmState());
    }
    NodeRoles.Builder roles = node.getRoles().toBuilder();
    changeConsensus(roles);
    changeKubernetes(node.getId(), roles, worker);
    if (roles.hasKubernetesController() && !roles.hasConsensusMember()) {
      throw Refusal.precondition(
          "node %s cannot be a KubernetesController without being a ConsensusMember", node.getId());
    }
    changeOthers(node, roles);
    return node.toBuilder().setRoles(roles).build();
  }

  /** Returns whether the request gives the role ConsensusMember to its node. */
  boolean beginsConsensus() {
    return request.getConsensusMember();
  }

  /** Returns whether the request takes the role ConsensusMember from its node. */
  boolean endsConsensus() {
    return request.hasConsensusMember() && !request.getConsensusMember();
  }

  /** Returns whether the request gives the role KubernetesWorker to its node. */
  boolean beginsWorker() {
    return request.getKubernetesWorker();
  }

  private void changeConsensus(NodeRoles.Builder roles) {
    if (request.hasConsensusMember()) {
      if (request.getConsensusMember()) {
        roles.setConsensusMember(NodeRoles.ConsensusMember.getDefaultInstance());
      } else {
        roles.clearConsensusMember();
      }
    }
  }

  private void changeKubernetes(String id, NodeRoles.Builder roles, Optional<String> worker) {
    if (request.hasKubernetesWorker()) {
      if (request.getKubernetesWorker()) {
        if (!roles.hasKubernetesWorker()) {
          requireNoOther(id, worker);
        }
        roles.setKubernetesWorker(NodeRoles.KubernetesWorker.getDefaultInstance());
      } else {
        roles.clearKubernetesWorker();
      }
    }
    if (request.hasKubernetesController()) {
      if (request.getKubernetesController()) {
        roles.setKubernetesController(NodeRoles.KubernetesController.getDefaultInstance());
      } else {
        roles.clearKubernetesController();
      }
    }
  }

  /** Refuses a second worker: until Kubernetes runs on several nodes, a cluster has one. */
  private static void requireNoOther(String id, Optional<String> worker) {
    worker.ifPresent(
        other -> {
          throw Refusal.precondition(
              "node %s cannot be a KubernetesWorker, since node %s is one, and a cluster of this"
                  + " version has only one; take the role from that node first: polisctl node role"
                  + " remove %s %s",
              id, other, other, RoleName.KUBERNETES_WORKER.text());
        });
  }

  private void changeOthers(Node node, NodeRoles.Builder roles) {
    SortedMap<String, Role> held = new TreeMap<>();
    roles.getOthersList().forEach(role -> held.put(role.getName(), role));
    others.forEach(
        (name, wanted) -> {
          if (wanted) {
            held.putIfAbsent(name.text(), Role.newBuilder().setName(name.text()).build());
          } else {
            held.remove(name.text());
          }
        });
    if (held.size() > MOST_OTHERS) {
      throw Refusal.precondition(
          "node %s would have %d roles besides those of consensus and Kubernetes; the limit is"
              + " %d; remove some",
          node.getId(), held.size(), MOST_OTHERS);
    }
    roles.clearOthers().addAllOthers(held.values());
  }
}
