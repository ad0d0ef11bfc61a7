package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.WatchOptions;
import dev.polis.etcd.WatchUpdate;
import dev.polis.logtree.Log;
import dev.polis.rpc.CallFeed;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.stored.Node;
import java.time.Duration;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * One etcd watch of all nodes for any number of listeners, which are told the same messages, made
 * once. A slow listener skips states in between and costs no more than one entry for each node.
 */
final class LeaderNodeHub implements AutoCloseable {

  /** Half of what a gRPC message may have by default, as existing clients expect. */
  private static final int CHUNK_BYTES = 2 << 20;

  /** When a listener is told to look for the next leader: about what an election takes. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  private static final String OVER = "this leadership is over";

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ready = lock.newCondition();
  // Guarded by lock. Of each node that there is, the message that tells its state.
  private final Map<String, WatchEvent> nodes = new TreeMap<>();
  private final Set<Listener> listeners = new HashSet<>();
  private boolean listed;
  private boolean closed;
  private String closedBecause = "";

  private final EtcdClient etcd;
  private final Log log;
  private final Thread reader;

  LeaderNodeHub(EtcdClient etcd, Log log) {
    this.etcd = etcd;
    this.log = log;
    this.reader = Thread.ofVirtual().name("curator node watch").start(this::read);
  }

  /**
   * Opens a listener that is first told all nodes there are.
   *
   * @param chosen which nodes it wants to hear of, by id
   * @param marked whether the end of those there are is marked
   * @param feed woken when there is news
   * @throws RpcException with UNAVAILABLE if the leadership is over
   */
  Listener listen(Predicate<String> chosen, boolean marked, CallFeed<WatchEvent> feed)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!listed && !closed) {
        ready.await();
      }
      if (closed) {
        throw ended();
      }
      Listener listener = new Listener(chosen, marked, feed);
      nodes.forEach(listener::offer);
      listeners.add(listener);
      return listener;
    } finally {
      lock.unlock();
    }
  }

  private RpcException ended() {
    return RpcException.unavailable(closedBecause + "; call again", RETRY);
  }

  private void read() {
    try (EtcdWatch watch = etcd.watch(RecordKeys.NODES.range(), WatchOptions.snapshot())) {
      while (true) {
        see(watch.next()).forEach(CallFeed::wake);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (EtcdClosedException e) {
      end(OVER);
    } catch (RuntimeException e) {
      // Without this, those who listen would wait for ever, and nobody would know why.
      log.error("The curator's watch of the nodes ended: %s", e.getMessage(), e);
      end("the leader can no longer watch its nodes: " + e.getMessage());
    }
  }

  /** Returns the feeds that have news; they are woken without the lock, as they take another. */
  private List<CallFeed<WatchEvent>> see(WatchUpdate update) {
    lock.lock();
    try {
      switch (update) {
        case WatchUpdate.Snapshot snapshot -> replaceAll(snapshot);
        case WatchUpdate.Changes changes -> changes.events().forEach(this::change);
        case WatchUpdate.Progress progress -> {}
      }
      return listeners.stream().filter(Listener::hasNews).map(each -> each.feed).toList();
    } finally {
      lock.unlock();
    }
  }

  private void replaceAll(WatchUpdate.Snapshot snapshot) {
    Map<String, WatchEvent> now = new TreeMap<>();
    for (KeyValue stored : snapshot.keys()) {
      Node node = NodeRecords.parse(stored);
      now.put(node.getId(), present(node));
    }
    Set<String> gone = new HashSet<>(nodes.keySet());
    gone.removeAll(now.keySet());
    gone.forEach(id -> tell(id, absent(id)));
    now.forEach(
        (id, state) -> {
          if (!state.equals(nodes.get(id))) {
            tell(id, state);
          }
        });
    nodes.clear();
    nodes.putAll(now);
    listed = true;
    ready.signalAll();
  }

  private void change(dev.polis.etcd.WatchEvent event) {
    Optional<String> id = RecordKeys.NODES.extractId(event.key());
    if (id.isEmpty()) {
      return;
    }
    if (event.type() == dev.polis.etcd.WatchEvent.Type.DELETE) {
      nodes.remove(id.get());
      tell(id.get(), absent(id.get()));
    } else {
      WatchEvent state = present(NodeRecords.parse(event.kv()));
      nodes.put(id.get(), state);
      tell(id.get(), state);
    }
  }

  private static WatchEvent present(Node node) {
    return WatchEvent.newBuilder().addNodes(NodeRecords.forNodes(node)).build();
  }

  private static WatchEvent absent(String id) {
    return WatchEvent.newBuilder()
        .addNodeTombstones(WatchEvent.NodeTombstone.newBuilder().setNodeId(id))
        .build();
  }

  private void tell(String id, WatchEvent state) {
    listeners.forEach(listener -> listener.offer(id, state));
  }

  private void end(String reason) {
    List<Listener> told;
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      closedBecause = reason;
      ready.signalAll();
      told = List.copyOf(listeners);
    } finally {
      lock.unlock();
    }
    told.forEach(listener -> listener.feed.end(ended()));
  }

  @Override
  public void close() {
    end(OVER);
    reader.interrupt();
  }

  /** What one caller still has to hear. */
  final class Listener implements CallFeed.Source<WatchEvent> {
    // Guarded by lock.
    private final Map<String, WatchEvent> news = new LinkedHashMap<>();
    private boolean markDue;

    private final Predicate<String> chosen;
    private final CallFeed<WatchEvent> feed;

    private Listener(Predicate<String> chosen, boolean marked, CallFeed<WatchEvent> feed) {
      this.chosen = chosen;
      this.markDue = marked;
      this.feed = feed;
    }

    private void offer(String id, WatchEvent state) {
      if (chosen.test(id)) {
        news.remove(id);
        news.put(id, state);
      }
    }

    private boolean hasNews() {
      return !news.isEmpty() || markDue;
    }

    @Override
    public Optional<WatchEvent> next() {
      lock.lock();
      try {
        if (!hasNews()) {
          return Optional.empty();
        }
        return Optional.of(news.size() == 1 && !markDue ? only() : joined());
      } finally {
        lock.unlock();
      }
    }

    /** The message that all listeners are told. */
    private WatchEvent only() {
      WatchEvent state = news.values().iterator().next();
      news.clear();
      return state;
    }

    private WatchEvent joined() {
      WatchEvent.Builder all = WatchEvent.newBuilder();
      int bytes = 0;
      Iterator<WatchEvent> states = news.values().iterator();
      while (states.hasNext() && bytes <= CHUNK_BYTES) {
        WatchEvent state = states.next();
        all.mergeFrom(state);
        bytes += state.getSerializedSize();
        states.remove();
      }
      if (markDue && news.isEmpty()) {
        markDue = false;
        all.setProgress(WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED);
      }
      return all.build();
    }

    @Override
    public void over() {
      lock.lock();
      try {
        listeners.remove(this);
      } finally {
        lock.unlock();
      }
    }
  }
}
