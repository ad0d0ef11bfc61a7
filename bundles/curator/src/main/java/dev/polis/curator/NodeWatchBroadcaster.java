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
 * Fans one etcd watch on the node records out to any number of streams; each change is encoded
 * once. A slow stream skips intermediate states and costs at most one entry for each node.
 * Thread-safe; its creator closes it, which ends the streams.
 */
final class NodeWatchBroadcaster implements AutoCloseable {

  /** Half of what a gRPC message may have by default, as existing clients expect. */
  private static final int CHUNK_BYTES = 2 << 20;

  /** When a client whose stream has ended should ask for the next leader: after an election. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  private static final String LEADERSHIP_ENDED = "this leadership has ended";

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition loadedOrClosed = lock.newCondition();
  // Guarded by lock. The present state of each node, as the message that is sent for it.
  private final Map<String, WatchEvent> nodes = new TreeMap<>();
  private final Set<Subscription> subscriptions = new HashSet<>();
  private boolean loaded;
  private boolean closed;
  private String closedBecause = "";

  private final EtcdClient etcd;
  private final Log log;
  private final Thread reader;

  /** Starts watching. */
  NodeWatchBroadcaster(EtcdClient etcd, Log log) {
    this.etcd = etcd;
    this.log = log;
    this.reader = Thread.ofVirtual().name("curator node watch").start(this::read);
  }

  /**
   * Opens a subscription that begins with the present state of all chosen nodes.
   *
   * @param chosen selects nodes by id
   * @param marked whether the end of the present states is marked
   * @param feed woken when there are messages to send
   * @throws RpcException with UNAVAILABLE if the leadership has ended
   */
  Subscription subscribe(Predicate<String> chosen, boolean marked, CallFeed<WatchEvent> feed)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!loaded && !closed) {
        loadedOrClosed.await();
      }
      if (closed) {
        throw closedException();
      }
      Subscription subscription = new Subscription(chosen, marked, feed);
      nodes.forEach(subscription::enqueue);
      subscriptions.add(subscription);
      return subscription;
    } finally {
      lock.unlock();
    }
  }

  private RpcException closedException() {
    return RpcException.unavailable(closedBecause + "; call again", RETRY);
  }

  private void read() {
    try (EtcdWatch watch = etcd.watch(RecordKeys.NODES.range(), WatchOptions.snapshot())) {
      while (true) {
        apply(watch.next()).forEach(CallFeed::wake);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (EtcdClosedException e) {
      endAll(LEADERSHIP_ENDED);
    } catch (RuntimeException e) {
      // Without this, the streams would stay open and receive nothing.
      log.error("The curator's watch of the nodes ended: %s", e.getMessage(), e);
      endAll("the leader can no longer watch its nodes: " + e.getMessage());
    }
  }

  /** Returns the feeds with messages to send; they take locks of their own and are woken later. */
  private List<CallFeed<WatchEvent>> apply(WatchUpdate update) {
    lock.lock();
    try {
      switch (update) {
        case WatchUpdate.Snapshot snapshot -> replaceAll(snapshot);
        case WatchUpdate.Changes changes -> changes.events().forEach(this::change);
        case WatchUpdate.Progress progress -> {}
      }
      return subscriptions.stream()
          .filter(Subscription::hasPending)
          .map(subscription -> subscription.feed)
          .toList();
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
    gone.forEach(id -> publish(id, absent(id)));
    now.forEach(
        (id, state) -> {
          if (!state.equals(nodes.get(id))) {
            publish(id, state);
          }
        });
    nodes.clear();
    nodes.putAll(now);
    loaded = true;
    loadedOrClosed.signalAll();
  }

  private void change(dev.polis.etcd.WatchEvent event) {
    Optional<String> id = RecordKeys.NODES.extractId(event.key());
    if (id.isEmpty()) {
      return;
    }
    if (event.type() == dev.polis.etcd.WatchEvent.Type.DELETE) {
      nodes.remove(id.get());
      publish(id.get(), absent(id.get()));
    } else {
      WatchEvent state = present(NodeRecords.parse(event.kv()));
      nodes.put(id.get(), state);
      publish(id.get(), state);
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

  private void publish(String id, WatchEvent state) {
    subscriptions.forEach(subscription -> subscription.enqueue(id, state));
  }

  private void endAll(String reason) {
    List<Subscription> ending;
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      closedBecause = reason;
      loadedOrClosed.signalAll();
      ending = List.copyOf(subscriptions);
    } finally {
      lock.unlock();
    }
    ending.forEach(subscription -> subscription.feed.end(closedException()));
  }

  @Override
  public void close() {
    endAll(LEADERSHIP_ENDED);
    reader.interrupt();
  }

  /** Queues the messages of one stream: for each node the newest state that was not sent yet. */
  final class Subscription implements CallFeed.Source<WatchEvent> {
    // Guarded by lock.
    private final Map<String, WatchEvent> pending = new LinkedHashMap<>();
    private boolean markPending;

    private final Predicate<String> chosen;
    private final CallFeed<WatchEvent> feed;

    private Subscription(Predicate<String> chosen, boolean marked, CallFeed<WatchEvent> feed) {
      this.chosen = chosen;
      this.markPending = marked;
      this.feed = feed;
    }

    private void enqueue(String id, WatchEvent state) {
      if (chosen.test(id)) {
        pending.remove(id);
        pending.put(id, state);
      }
    }

    private boolean hasPending() {
      return !pending.isEmpty() || markPending;
    }

    @Override
    public Optional<WatchEvent> next() {
      lock.lock();
      try {
        if (!hasPending()) {
          return Optional.empty();
        }
        return Optional.of(pending.size() == 1 && !markPending ? single() : merged());
      } finally {
        lock.unlock();
      }
    }

    /** Takes the only pending state, whose message is shared by all streams. */
    private WatchEvent single() {
      WatchEvent state = pending.values().iterator().next();
      pending.clear();
      return state;
    }

    private WatchEvent merged() {
      WatchEvent.Builder all = WatchEvent.newBuilder();
      int bytes = 0;
      Iterator<WatchEvent> states = pending.values().iterator();
      while (states.hasNext() && bytes <= CHUNK_BYTES) {
        WatchEvent state = states.next();
        all.mergeFrom(state);
        bytes += state.getSerializedSize();
        states.remove();
      }
      if (markPending && pending.isEmpty()) {
        markPending = false;
        all.setProgress(WatchEvent.Progress.PROGRESS_LAST_BACKLOGGED);
      }
      return all.build();
    }

    @Override
    public void over() {
      lock.lock();
      try {
        subscriptions.remove(this);
      } finally {
        lock.unlock();
      }
    }
  }
}
