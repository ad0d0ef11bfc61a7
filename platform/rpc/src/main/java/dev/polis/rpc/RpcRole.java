package dev.polis.rpc;

import dev.polis.wire.ext.Permission;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Is the set of permissions that a user has. The sets are declared here alone; with the permissions
 * that each method needs they decide about each call. Each role includes the one before it.
 */
public enum RpcRole {
  /** Reads what is no secret, and changes nothing. */
  VIEWER(
      EnumSet.of(
          Permission.PERMISSION_READ_CLUSTER_STATUS,
          Permission.PERMISSION_READ_NODE_LOGS,
          Permission.PERMISSION_READ_AUDIT_LOG)),

  /** Also changes nodes, plugins and the configuration, and gives no access to others. */
  OPERATOR(
      with(
          VIEWER,
          Permission.PERMISSION_GET_REGISTER_TICKET,
          Permission.PERMISSION_APPROVE_NODE,
          Permission.PERMISSION_UPDATE_NODE_ROLES,
          Permission.PERMISSION_UPDATE_NODE,
          Permission.PERMISSION_DECOMMISSION_NODE,
          Permission.PERMISSION_DELETE_NODE,
          Permission.PERMISSION_UPDATE_NODE_LABELS,
          Permission.PERMISSION_NODE_POWER_MANAGEMENT,
          Permission.PERMISSION_CONFIGURE_CLUSTER)),

  /** Has all permissions. The holder of the owner's key alone has this role. */
  OWNER(all());

  /** The name of the user with the role {@link #OWNER}, which no operator may have. */
  public static final String OWNER_NAME = "owner";

  private final Set<Permission> permissions;

  RpcRole(EnumSet<Permission> permissions) {
    this.permissions = Collections.unmodifiableSet(permissions);
  }

  private static EnumSet<Permission> with(RpcRole smaller, Permission... more) {
    EnumSet<Permission> all = EnumSet.copyOf(smaller.permissions);
    Collections.addAll(all, more);
    return all;
  }

  private static EnumSet<Permission> all() {
    EnumSet<Permission> all = EnumSet.allOf(Permission.class);
    all.remove(Permission.PERMISSION_UNSPECIFIED);
    all.remove(Permission.UNRECOGNIZED);
    return all;
  }

  /** Returns the permissions of the role. */
  public Set<Permission> permissions() {
    return permissions;
  }

  /** Returns the role's name in commands and messages. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the smallest role that the owner can give and that has all these permissions. */
  static Optional<RpcRole> granting(Set<Permission> need) {
    return Stream.of(VIEWER, OPERATOR)
        .filter(role -> role.permissions.containsAll(need))
        .findFirst();
  }
}
