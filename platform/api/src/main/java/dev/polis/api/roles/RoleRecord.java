package dev.polis.api.roles;

import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.roles.Role;
import dev.polis.wire.roles.RunningRoles;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads and writes role names in messages of the wire format. Three roles have a field of their
 * own, for clients that know only these; a list names all others.
 */
public final class RoleRecord {

  private RoleRecord() {}

  /** Returns the well-formed roles in a record. */
  public static SortedSet<RoleName> names(NodeRoles record) {
    SortedSet<RoleName> names = new TreeSet<>();
    if (record.hasConsensusMember()) {
      names.add(RoleName.CONSENSUS_MEMBER);
    }
    if (record.hasKubernetesController()) {
      names.add(RoleName.KUBERNETES_CONTROLLER);
    }
    if (record.hasKubernetesWorker()) {
      names.add(RoleName.KUBERNETES_WORKER);
    }
    wellFormed(record.getOthersList()).forEach(names::add);
    return names;
  }

  /** Returns the malformed names in a record, which a newer version may have written. */
  public static List<String> malformed(NodeRoles record) {
    return record.getOthersList().stream()
        .map(Role::getName)
        .filter(name -> RoleName.problemOf(name).isPresent())
        .toList();
  }

  /** Returns whether a role has a field of its own in the messages. */
  public static boolean hasOwnField(RoleName role) {
    return role.equals(RoleName.CONSENSUS_MEMBER)
        || role.equals(RoleName.KUBERNETES_CONTROLLER)
        || role.equals(RoleName.KUBERNETES_WORKER);
  }

  /** Returns a record with these roles alone. */
  public static NodeRoles of(Collection<RoleName> roles) {
    NodeRoles.Builder record = NodeRoles.newBuilder();
    if (roles.contains(RoleName.CONSENSUS_MEMBER)) {
      record.setConsensusMember(NodeRoles.ConsensusMember.getDefaultInstance());
    }
    if (roles.contains(RoleName.KUBERNETES_CONTROLLER)) {
      record.setKubernetesController(NodeRoles.KubernetesController.getDefaultInstance());
    }
    if (roles.contains(RoleName.KUBERNETES_WORKER)) {
      record.setKubernetesWorker(NodeRoles.KubernetesWorker.getDefaultInstance());
    }
    return record.addAllOthers(messages(roles.stream().filter(role -> !hasOwnField(role)))).build();
  }

  /** Returns the message about running roles. */
  public static RunningRoles running(Collection<RoleName> roles) {
    return RunningRoles.newBuilder().addAllRoles(messages(roles.stream())).build();
  }

  /** Returns the running roles in a node's status; empty if the status has none. */
  public static Optional<SortedSet<RoleName>> running(NodeStatus status) {
    return status.hasRunningRoles()
        ? Optional.of(
            wellFormed(status.getRunningRoles().getRolesList())
                .collect(Collectors.toCollection(TreeSet::new)))
        : Optional.empty();
  }

  private static Stream<RoleName> wellFormed(List<Role> roles) {
    return roles.stream()
        .map(Role::getName)
        .filter(name -> RoleName.problemOf(name).isEmpty())
        .map(RoleName::new);
  }

  private static List<Role> messages(Stream<RoleName> roles) {
    return roles
        .sorted()
        .distinct()
        .map(role -> Role.newBuilder().setName(role.text()).build())
        .toList();
  }
}
