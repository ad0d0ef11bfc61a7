package dev.polis.curator.record;

import com.google.protobuf.MessageLite;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.RememberedChange;
import dev.polis.wire.cluster.RememberedChanges;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.Node;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Holds all records of the cluster at one moment. A damaged record fails only the calls that name
 * it. Immutable; thread-safe.
 */
public final class RecordSnapshot {

  public static final RecordSnapshot EMPTY = new RecordSnapshot(0, new TreeMap<>());

  private final long version;
  private final NavigableMap<String, RecordState> states;
  private volatile List<dev.polis.wire.api.Node> forOperators; // null until a caller asks

  /**
   * Creates a snapshot.
   *
   * @param version the version, which grows with each change
   * @param states the states by key, which no longer change
   */
  RecordSnapshot(long version, NavigableMap<String, RecordState> states) {
    this.version = version;
    this.states = states;
  }

  public long version() {
    return version;
  }

  public Set<String> keys() {
    return states.keySet();
  }

  TreeMap<String, RecordState> copyOfStates() {
    return new TreeMap<>(states);
  }

  public RecordState state(String key) {
    RecordState state = states.get(key);
    return state == null ? new RecordState.Absent() : state;
  }

  /** Returns the nodes with undamaged records, ordered by id. */
  public List<Node> nodes() {
    return below(RecordKeys.NODES.text())
        .flatMap(
            entry ->
                entry.getValue() instanceof RecordState.Present(long revision, MessageLite record)
                    ? Stream.of((Node) record)
                    : Stream.empty())
        .toList();
  }

  /**
   * Returns the operators' view of all nodes, ordered by id, without their health. A node with a
   * damaged record has no valid state, and hides no other node.
   */
  public List<dev.polis.wire.api.Node> forOperators() {
    List<dev.polis.wire.api.Node> known = forOperators;
    if (known == null) {
      known = nodeIds().stream().map(id -> forOperators(id, state(RecordKeys.node(id)))).toList();
      // Two threads may both compute it; the result is the same.
      forOperators = known;
    }
    return known;
  }

  private static dev.polis.wire.api.Node forOperators(String id, RecordState state) {
    return state instanceof RecordState.Present(long revision, MessageLite record)
        ? NodeRecords.forOperators((Node) record)
        : NodeRecords.damaged(id);
  }

  /** Returns the ids of all nodes, damaged ones too, in order. */
  public List<String> nodeIds() {
    return below(RecordKeys.NODES.text())
        .flatMap(entry -> RecordKeys.NODES.extractId(entry.getKey()).stream())
        .toList();
  }

  /** Returns the readable reports about plugins, of members and others, by node id. */
  public Map<String, PluginReport> reports() {
    Map<String, PluginReport> reports = new TreeMap<>();
    below(RecordKeys.PLUGIN_REPORTS.text())
        .forEach(
            entry -> {
              if (entry.getValue()
                  instanceof RecordState.Present(long revision, MessageLite record)) {
                RecordKeys.PLUGIN_REPORTS
                    .extractId(entry.getKey())
                    .ifPresent(id -> reports.put(id, (PluginReport) record));
              }
            });
    return reports;
  }

  /** Returns the last remembered change of each readable record of changes, by key. */
  Map<String, RememberedChange> lastChanges() {
    Map<String, RememberedChange> lasts = new TreeMap<>();
    below(RecordKeys.CHANGES.text())
        .forEach(
            entry -> {
              if (entry.getValue() instanceof RecordState.Present(long revision, MessageLite record)
                  && record instanceof RememberedChanges changes
                  && changes.getChangesCount() > 0) {
                lasts.put(entry.getKey(), changes.getChangesList().getLast());
              }
            });
    return lasts;
  }

  private Stream<Map.Entry<String, RecordState>> below(String prefix) {
    return states.tailMap(prefix, true).entrySet().stream()
        .takeWhile(entry -> entry.getKey().startsWith(prefix));
  }

  /**
   * Returns a record; empty if it does not exist.
   *
   * @throws RpcException DATA_LOSS if it is damaged; names the key
   */
  <M extends MessageLite> Optional<M> find(String key, Class<M> type) {
    return switch (state(key)) {
      case RecordState.Present(long revision, MessageLite record) -> Optional.of(type.cast(record));
      case RecordState.Absent() -> Optional.empty();
      case RecordState.Damaged(long revision, RpcException reason) -> throw reason;
    };
  }

  /** Returns a record that each cluster needs. */
  <M extends MessageLite> M require(String key, Class<M> type) {
    return find(key, type).orElseThrow(() -> missing(key));
  }

  static RpcException missing(String key) {
    return Refusal.dataLoss(
        "%s is missing in etcd, so the cluster's records are incomplete; restore them from a snapshot",
        key);
  }

  public ClusterConfiguration configuration() {
    return require(RecordKeys.CLUSTER_CONFIGURATION, ClusterConfiguration.class);
  }

  public WantedPlugins wantedPlugins() {
    return find(RecordKeys.WANTED_PLUGINS, WantedPlugins.class)
        .orElseGet(WantedPlugins::getDefaultInstance);
  }

  /** Returns the wanted plugins, the reports of nodes, and the nodes themselves. */
  PluginRecords plugins() {
    return PluginRecords.of(this);
  }
}
