package dev.polis.curator;

import dev.polis.etcd.KeyRange;
import dev.polis.etcd.KeyValue;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.curator.stored.Node;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Records as they were at one revision, shared by all who asked for them at that time. Immutable;
 * thread-safe.
 */
final class RecordView {

  private final Map<KeyRange, List<KeyValue>> found;

  // Guarded by this. Read out of what was found when somebody asks, once; empty until then.
  private List<Node> nodes = List.of();

  RecordView(Map<KeyRange, List<KeyValue>> found) {
    this.found = Map.copyOf(found);
  }

  /** Returns a view of what was found now: this one, with what was made of it, if that is equal. */
  RecordView or(Map<KeyRange, List<KeyValue>> now) {
    return found.equals(now) ? this : new RecordView(now);
  }

  /**
   * Returns all nodes, ordered by id.
   *
   * @throws IllegalStateException if a record is damaged; names the key
   */
  synchronized List<Node> nodes() {
    List<KeyValue> stored = found(RecordKeys.NODES.range());
    if (nodes.size() < stored.size()) {
      nodes = stored.stream().map(NodeRecords::parse).toList();
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
        "%s is missing in etcd, so this is no whole cluster; restore it from a snapshot"
            .formatted(key));
  }

  ClusterConfiguration configuration() {
    return RecordState.parse(
        required(RecordKeys.CLUSTER_CONFIGURATION), ClusterConfiguration.parser());
  }

  private List<KeyValue> found(KeyRange range) {
    List<KeyValue> keys = found.get(range);
    if (keys == null) {
      throw new IllegalArgumentException(range + " was not asked for, only " + found.keySet());
    }
    return keys;
  }
}
