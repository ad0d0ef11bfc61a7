package dev.polis.api.roles;

import java.util.Collection;
import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Holds the roles that the cluster wants of this node.
 *
 * @param roles the roles, sorted by name
 * @param fromCluster true if the cluster has sent them since this node started; otherwise the node
 *     remembers them from the last run
 */
public record LocalRoles(SortedSet<RoleName> roles, boolean fromCluster) {
  public LocalRoles {
    roles = Collections.unmodifiableSortedSet(new TreeSet<>(roles));
  }

  /** Returns the roles for operators: comma-separated names, or "none". */
  public String describe() {
    return describe(roles);
  }

  /** Returns roles for operators: comma-separated names, or "none". */
  public static String describe(Collection<RoleName> roles) {
    return roles.isEmpty()
        ? "none"
        : roles.stream().map(RoleName::text).collect(Collectors.joining(","));
  }
}
