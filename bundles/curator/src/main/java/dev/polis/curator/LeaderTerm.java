package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.Fence;
import dev.polis.etcd.KeyValues;
import dev.polis.logtree.Log;
import java.time.InstantSource;
import java.util.function.LongSupplier;

/**
 * One leadership of this node: the fenced way to the records, and what only this leader remembers.
 * It ends with the leadership and is never used again.
 */
final class LeaderTerm implements AutoCloseable {

  private final Fence fence;
  private final RecordStore records;
  private final CuratorPki pki;
  private final LeaderHeartbeats heartbeats;
  private final LeaderNodeHub nodes;

  LeaderTerm(EtcdClient etcd, Fence fence, Log log, LongSupplier nanoTime) {
    this.fence = fence;
    KeyValues fenced = etcd.kv().fenced(fence);
    this.records = new RecordStore(fenced);
    this.pki = new CuratorPki(etcd, fenced, InstantSource.system());
    this.heartbeats = new LeaderHeartbeats(nanoTime);
    this.nodes = new LeaderNodeHub(etcd, log);
  }

  RecordStore records() {
    return records;
  }

  CuratorPki pki() {
    return pki;
  }

  LeaderHeartbeats heartbeats() {
    return heartbeats;
  }

  LeaderNodeHub nodes() {
    return nodes;
  }

  long fencingToken() {
    return fence.createRevision();
  }

  @Override
  public void close() {
    nodes.close();
    records.close();
  }
}
