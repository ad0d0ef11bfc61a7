package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.Fence;
import dev.polis.etcd.KeyValues;
import dev.polis.logtree.Log;
import java.time.InstantSource;
import java.util.function.LongSupplier;

/**
 * Holds what this node has for as long as it leads: fenced access to the records, the fan-out of
 * the nodes' watch, and the heartbeats. Each leadership has a new one.
 */
final class LeaderTerm implements AutoCloseable {

  private final Fence fence;
  private final RecordStore records;
  private final CuratorPki pki;
  private final HeartbeatMonitor heartbeats;
  private final NodeWatchBroadcaster nodes;

  LeaderTerm(EtcdClient etcd, Fence fence, Log log, LongSupplier nanoTime) {
    this.fence = fence;
    KeyValues fenced = etcd.kv().fenced(fence);
    this.records = new RecordStore(fenced);
    this.pki = new CuratorPki(etcd, fenced, InstantSource.system());
    this.heartbeats = new HeartbeatMonitor(nanoTime);
    this.nodes = new NodeWatchBroadcaster(etcd, log);
  }

  RecordStore records() {
    return records;
  }

  CuratorPki pki() {
    return pki;
  }

  HeartbeatMonitor heartbeats() {
    return heartbeats;
  }

  NodeWatchBroadcaster nodes() {
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
