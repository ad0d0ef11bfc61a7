package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.Fence;
import dev.polis.etcd.KeyValues;
import dev.polis.logtree.Log;
import java.time.InstantSource;

/**
 * Holds what this node has for as long as it leads: fenced access to the records, the fan-out of
 * the nodes' watch and of the plugin set, and the heartbeats. Each leadership has a new one.
 */
final class LeaderTerm implements AutoCloseable {

  private final Fence fence;
  private final RecordStore records;
  private final CuratorPki pki;
  private final HeartbeatMonitor heartbeats;
  private final NodeWatchBroadcaster nodes;
  private final PluginSetWatch plugins;

  private int users; // guarded by this
  private boolean finishing; // guarded by this

  LeaderTerm(EtcdClient etcd, Fence fence, Log log, HeartbeatMonitor heartbeats) {
    this.fence = fence;
    KeyValues fenced = etcd.kv().fenced(fence);
    this.records = new RecordStore(fenced);
    this.pki = new CuratorPki(etcd, fenced, InstantSource.system());
    this.heartbeats = heartbeats;
    this.nodes = new NodeWatchBroadcaster(etcd, log);
    this.plugins = new PluginSetWatch(etcd, records, log);
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

  PluginSetWatch plugins() {
    return plugins;
  }

  long fencingToken() {
    return fence.createRevision();
  }

  /** Counts a call that works under this leadership; false if the leadership is being ended. */
  synchronized boolean enter() {
    if (!finishing) {
      users++;
    }
    return !finishing;
  }

  /** Ends the work of a call that has entered. */
  synchronized void leave() {
    users--;
    notifyAll();
  }

  /**
   * Lets no more calls enter, and waits until the last one has left and its transaction has ended.
   *
   * @throws InterruptedException if interrupted; calls may enter again
   */
  void finish() throws InterruptedException {
    try {
      awaitUnused();
      records.awaitIdle();
    } catch (InterruptedException hurried) {
      synchronized (this) {
        finishing = false;
      }
      throw hurried;
    }
  }

  private synchronized void awaitUnused() throws InterruptedException {
    finishing = true;
    while (users > 0) {
      wait();
    }
  }

  @Override
  public void close() {
    nodes.close();
    plugins.close();
    records.close();
  }
}
