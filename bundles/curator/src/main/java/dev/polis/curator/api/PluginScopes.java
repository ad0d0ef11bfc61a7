package dev.polis.curator.api;

import dev.polis.api.roles.RoleName;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.Comparator;

/** Checks, orders and describes the scopes of wanted plugins. */
public final class PluginScopes {

  /** Orders by symbolic name, then by scope: everywhere, roles, nodes. */
  static final Comparator<WantedPlugin> ORDER =
      Comparator.comparing(WantedPlugin::getSymbolicName)
          .thenComparing(wanted -> wanted.getScope().getKindCase().getNumber())
          .thenComparing(wanted -> wanted.getScope().getRole())
          .thenComparing(wanted -> wanted.getScope().getNodeId());

  private PluginScopes() {}

  /**
   * Returns the scope if it is well-formed.
   *
   * @throws dev.polis.rpc.RpcException INVALID_ARGUMENT if it is not
   */
  static PluginScope checked(PluginScope scope) {
    switch (scope.getKindCase()) {
      case EVERYWHERE -> {}
      case ROLE ->
          RoleName.problemOf(scope.getRole())
              .ifPresent(
                  problem -> {
                    throw Refusal.invalid("scope.role: \"%s\" %s", scope.getRole(), problem);
                  });
      case NODE_ID -> NodeRecords.idOfText(scope.getNodeId());
      case KIND_NOT_SET ->
          throw Refusal.invalid("scope is empty; set its everywhere, role or node_id");
    }
    return scope;
  }

  /** Returns the scope for people, such as {@code on nodes with the role NightlyBackup}. */
  public static String words(PluginScope scope) {
    return switch (scope.getKindCase()) {
      case EVERYWHERE -> "everywhere";
      case ROLE -> "on nodes with the role " + scope.getRole();
      case NODE_ID -> "on node " + scope.getNodeId();
      case KIND_NOT_SET -> "nowhere";
    };
  }
}
