package dev.polis.api.roles;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The roles of this node.
 *
 * @param roles the roles, in the order of {@link Role}
 * @param fromCluster whether the cluster said so since this node started; otherwise they are those
 *     remembered from before
 */
public record LocalRoles(Set<Role> roles, boolean fromCluster) {
  public LocalRoles {
    EnumSet<Role> ordered = EnumSet.noneOf(Role.class);
    ordered.addAll(roles);
    roles = Collections.unmodifiableSet(ordered);
  }

  /** Returns the roles as operators read them: comma-separated names, or "none". */
  public String describe() {
    return roles.isEmpty()
        ? "none"
        : roles.stream().map(Role::roleName).collect(Collectors.joining(","));
  }
}
