package dev.polis.curator.record;

import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.curator.stored.Node;
import java.util.List;
import java.util.Map;

/**
 * Holds the wanted plugins of the cluster and the reports of its nodes, at one revision.
 *
 * @param wanted the wanted plugins, in the order of the record
 * @param reports the reports of members, ordered by id
 * @param nodes the nodes, ordered by id
 */
public record PluginRecords(
    List<WantedPlugin> wanted, List<PluginReport> reports, List<Node> nodes) {

  /** Copies the lists. */
  public PluginRecords {
    wanted = List.copyOf(wanted);
    reports = List.copyOf(reports);
    nodes = List.copyOf(nodes);
  }

  /**
   * Extracts the plugins from all records, without damaged reports and nodes.
   *
   * @throws dev.polis.rpc.RpcException DATA_LOSS if the record of the wanted plugins is damaged
   */
  static PluginRecords of(RecordSnapshot records) {
    Map<String, PluginReport> reports = records.reports();
    reports.keySet().retainAll(records.nodeIds());
    return new PluginRecords(
        records.wantedPlugins().getWantedList(), List.copyOf(reports.values()), records.nodes());
  }

  /** Returns whether a node has a role by its record. */
  public boolean hasRole(String node, String role) {
    return nodes.stream()
        .filter(each -> each.getId().equals(node))
        .anyMatch(each -> RoleRecord.names(each.getRoles()).contains(new RoleName(role)));
  }
}
