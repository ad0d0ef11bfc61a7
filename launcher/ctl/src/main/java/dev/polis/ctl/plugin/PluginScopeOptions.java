package dev.polis.ctl.plugin;

import dev.polis.ctl.node.NodeCommand;
import dev.polis.ctl.session.Session;
import dev.polis.wire.cluster.PluginScope;
import java.util.List;
import picocli.CommandLine.Option;

/** Takes from the command line where a plugin is wanted. */
final class PluginScopeOptions {

  @Option(
      names = "--everywhere",
      description = "on each node of the cluster, unless its role or the node itself decides")
  boolean everywhere;

  @Option(names = "--role", paramLabel = "ROLE", description = "on the nodes with this role")
  String role;

  @Option(names = "--node", paramLabel = "NODE", description = "on this node, by its id")
  String node;

  /** Returns the scope that was named. */
  PluginScope scope() {
    if (role != null) {
      return PluginScope.newBuilder().setRole(role).build();
    }
    return node == null ? anywhere() : PluginScope.newBuilder().setNodeId(node).build();
  }

  /**
   * Requires that the named node exists.
   *
   * @throws dev.polis.ctl.session.CtlException NOT_FOUND, with the nodes that exist
   */
  void requireNode(Session session) throws InterruptedException {
    if (node != null) {
      NodeCommand.chosen(session, List.of(node), "");
    }
  }

  static PluginScope anywhere() {
    return PluginScope.newBuilder()
        .setEverywhere(PluginScope.Everywhere.getDefaultInstance())
        .build();
  }

  /** Describes a scope as text. */
  static String words(PluginScope scope) {
    return switch (scope.getKindCase()) {
      case EVERYWHERE -> "everywhere";
      case ROLE -> "role " + scope.getRole();
      case NODE_ID -> "node " + scope.getNodeId();
      case KIND_NOT_SET -> "nowhere";
    };
  }

  /** Describes the nodes of a scope as text. */
  static String nodes(PluginScope scope) {
    return words(scope).replace("everywhere", "each node");
  }
}
