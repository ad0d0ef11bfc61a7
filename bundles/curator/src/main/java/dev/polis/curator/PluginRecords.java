package dev.polis.curator;

import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.etcd.KeyValue;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.curator.stored.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Holds what the cluster wants of plugins and what its nodes say of theirs, at one revision.
 *
 * @param wanted ordered as in the record
 * @param reports of nodes that are members, ordered by id
 * @param nodes ordered by id
 */
record PluginRecords(List<WantedPlugin> wanted, List<PluginReport> reports, List<Node> nodes) {

  /** Copies the lists. */
  PluginRecords {
    wanted = List.copyOf(wanted);
    reports = List.copyOf(reports);
    nodes = List.copyOf(nodes);
  }

  /**
   * Parses the records.
   *
   * @throws IllegalStateException if one is damaged; names the key
   */
  static PluginRecords of(List<KeyValue> plugins, List<Node> nodes) {
    Set<String> members = nodes.stream().map(Node::getId).collect(Collectors.toSet());
    List<WantedPlugin> wanted = new ArrayList<>();
    List<PluginReport> reports = new ArrayList<>();
    for (KeyValue stored : plugins) {
      if (stored.key().equals(RecordKeys.WANTED_PLUGINS)) {
        wanted.addAll(RecordState.parse(stored, WantedPlugins.parser()).getWantedList());
      } else if (RecordKeys.PLUGIN_REPORTS
          .extractId(stored.key())
          .filter(members::contains)
          .isPresent()) {
        reports.add(RecordState.parse(stored, PluginReport.parser()));
      }
    }
    return new PluginRecords(wanted, reports, nodes);
  }

  /** Returns whether a node has a role by its record. */
  boolean hasRole(String node, String role) {
    return nodes.stream()
        .filter(each -> each.getId().equals(node))
        .anyMatch(each -> RoleRecord.names(each.getRoles()).contains(new RoleName(role)));
  }
}
