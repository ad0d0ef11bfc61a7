package dev.polis.curator.leader;

import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.HeartbeatMonitor;
import dev.polis.curator.record.RecordMemory;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.RecordStore;
import dev.polis.curator.record.RecordWatch;
import dev.polis.etcd.ElectionState;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.Fence;
import dev.polis.etcd.KeyValues;
import dev.polis.logtree.Log;
import dev.polis.rpc.CallFeed;
import dev.polis.wire.curator.WatchEvent;

/**
 * Holds the state of one leadership of this node: the records in memory and fenced access to them,
 * the streams of the nodes and of the plugin set, and the heartbeats.
 */
public final class LeaderTerm implements AutoCloseable {

  private final Fence fence;
  private final RecordMemory memory;
  private final RecordStore records;
  private final CuratorPki pki;
  private final HeartbeatMonitor heartbeats;
  private final NodeWatchBroadcaster nodes;
  private final PluginSetWatch plugins;
  private final RecordWatch watch;

  private int users; // guarded by this
  private boolean finishing; // guarded by this

  LeaderTerm(EtcdClient etcd, ElectionState.Leader leader, Log log, HeartbeatMonitor heartbeats) {
    this.fence = leader.fence();
    KeyValues fenced = etcd.kv().fenced(fence);
    this.memory = new RecordMemory(damage -> log.error("%s.", damage));
    this.records = new RecordStore(fenced, memory, leader.lease()::holds);
    this.pki = CuratorPki.founded(etcd, fenced);
    this.heartbeats = heartbeats;
    this.nodes = new NodeWatchBroadcaster(memory);
    this.plugins = new PluginSetWatch(records, memory, log);
    this.watch = new RecordWatch(etcd, memory, log);
  }

  public RecordStore records() {
    return records;
  }

  /** Returns the records in memory, which others may have changed meanwhile. */
  public RecordSnapshot known() {
    return memory.now();
  }

  public CuratorPki pki() {
    return pki;
  }

  public HeartbeatMonitor heartbeats() {
    return heartbeats;
  }

  /** Opens a stream's subscription to nodes, which begins with all acknowledged changes. */
  public CallFeed.Source<WatchEvent> watch(NodeSelection selection, CallFeed<WatchEvent> feed)
      throws InterruptedException {
    NodeWatchBroadcaster.Subscription subscription = nodes.subscribe(selection, feed);
    boolean complete = false;
    try {
      records.complete();
      complete = true;
    } finally {
      if (!complete) {
        subscription.over();
      }
    }
    return subscription;
  }

  public PluginSetWatch plugins() {
    return plugins;
  }

  long fencingToken() {
    return fence.createRevision();
  }

  /** Counts a call under this leadership; returns false if the leadership is ending. */
  synchronized boolean enter() {
    if (!finishing) {
      users++;
    }
    return !finishing;
  }

  /** Records the end of a counted call. */
  synchronized void leave() {
    users--;
    notifyAll();
  }

  /**
   * Refuses further calls, and waits until the last call has left and its transaction has ended.
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
    watch.close();
    records.close();
  }
}
