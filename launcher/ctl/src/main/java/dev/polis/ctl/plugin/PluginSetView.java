package dev.polis.ctl.plugin;

import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.cluster.GetPluginSetRequest;
import dev.polis.wire.cluster.GetPluginSetResponse;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.ReportedPlugin;
import dev.polis.wire.cluster.WantedPlugin;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.osgi.framework.Version;

/**
 * Shows what the cluster wants of plugins beside what its nodes say.
 *
 * @param set as the curator answered
 * @param nodes all of the cluster
 */
record PluginSetView(GetPluginSetResponse set, List<Node> nodes) {

  /** Asks the curator. */
  static PluginSetView fetch(Session session) throws InterruptedException {
    GetPluginSetResponse set =
        session.call(
            () -> session.pluginSet().getPluginSet(GetPluginSetRequest.getDefaultInstance()));
    return new PluginSetView(set, NodeRows.fetch(session, ""));
  }

  /** Finds a node's report of its plugins. */
  Optional<PluginReport> report(String node) {
    return set.getReportsList().stream()
        .filter(report -> report.getNodeId().equals(node))
        .findFirst();
  }

  /** Finds a node's report of one plugin. */
  Optional<ReportedPlugin> reported(String node, String symbolicName) {
    return report(node).stream()
        .flatMap(report -> report.getPluginsList().stream())
        .filter(plugin -> plugin.getSymbolicName().equals(symbolicName))
        .findFirst();
  }

  /**
   * Finds what decides about a plugin on a node: the node, then its roles, then everywhere. Of
   * several roles the one that wants the newest version decides, as the nodes have it.
   */
  Optional<WantedPlugin> decides(Node node, String symbolicName) {
    return newest(symbolicName, each -> each.getScope().getNodeId().equals(node.getId()))
        .or(() -> newest(symbolicName, each -> NodeRows.has(node, each.getScope().getRole())))
        .or(() -> newest(symbolicName, each -> each.getScope().hasEverywhere()));
  }

  private Optional<WantedPlugin> newest(String symbolicName, Predicate<WantedPlugin> scope) {
    return set.getWantedList().stream()
        .filter(each -> each.getSymbolicName().equals(symbolicName))
        .filter(scope)
        .reduce((one, other) -> version(one).compareTo(version(other)) >= 0 ? one : other);
  }

  private static Version version(WantedPlugin wanted) {
    try {
      return Version.parseVersion(wanted.getVersion());
    } catch (IllegalArgumentException e) {
      return Version.emptyVersion;
    }
  }

  /** Returns the nodes on which a wanted plugin decides. */
  List<Node> decidedBy(WantedPlugin wanted) {
    return nodes.stream()
        .filter(
            node ->
                decides(node, wanted.getSymbolicName())
                    .filter(each -> each.getScope().equals(wanted.getScope()))
                    .isPresent())
        .toList();
  }

  /** Returns the names of all plugins that are wanted somewhere or known to a node, sorted. */
  List<String> names() {
    return Stream.concat(
            set.getWantedList().stream().map(WantedPlugin::getSymbolicName),
            set.getReportsList().stream()
                .flatMap(report -> report.getPluginsList().stream())
                .map(ReportedPlugin::getSymbolicName))
        .sorted()
        .distinct()
        .toList();
  }
}
