package dev.polis.curator;

import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.Node;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Holds records as they were at one revision; shared by all callers whose reads were batched.
 * Immutable; thread-safe.
 */
final class RecordSnapshot {

  private final Map<KeyRange, List<KeyValue>> found;

  // Guarded by this. Parsed at first use; null until then.
  private List<Node> nodes;

  RecordSnapshot(Map<KeyRange, List<KeyValue>> found) {
    this.found = Map.copyOf(found);
  }

  /** Returns this snapshot, with what it has parsed, if the records are equal, else a new one. */
  RecordSnapshot orNewer(Map<KeyRange, List<KeyValue>> now) {
    return found.equals(now) ? this : new RecordSnapshot(now);
  }

  /**
   * Returns all nodes, ordered by id.
   *
   * @throws IllegalStateException if a record is damaged; names the key
   */
  synchronized List<Node> nodes() {
    if (nodes == null) {
      nodes = found(RecordKeys.NODES.range()).stream().map(NodeRecords::parse).toList();
    }
    return nodes;
  }

  Optional<KeyValue> one(String key) {
    return found(KeyRange.single(key)).stream().findFirst();
  }

  KeyValue required(String key) {
    return one(key).orElseThrow(() -> missing(key));
  }

  static IllegalStateException missing(String key) {
    return new IllegalStateException(
        "%s is missing in etcd, so the cluster's records are incomplete; restore them from a snapshot"
            .formatted(key));
  }

  ClusterConfiguration configuration() {
    return RecordState.parse(
        required(RecordKeys.CLUSTER_CONFIGURATION), ClusterConfiguration.parser());
  }

  /** Returns which plugins the nodes should run, what they report, and the nodes themselves. */
  PluginRecords plugins() {
    return PluginRecords.of(found(RecordKeys.PLUGINS.range()), nodes());
  }

  private List<KeyValue> found(KeyRange range) {
    List<KeyValue> keys = found.get(range);
    if (keys == null) {
      throw new IllegalArgumentException(range + " was not read, only " + found.keySet());
    }
    return keys;
  }
}
