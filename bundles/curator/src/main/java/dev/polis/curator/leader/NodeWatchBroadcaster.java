package dev.polis.curator.leader;

import com.google.protobuf.MessageLite;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordMemory;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.RecordState;
import dev.polis.rpc.CallFeed;
import dev.polis.rpc.RpcException;
import dev.polis.wire.curator.WatchEvent;
import dev.polis.wire.curator.stored.Node;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sends the changes of the node records in the leader's memory to any number of streams; each
 * change is one message for all. A slow stream skips intermediate states and costs at most one
 * entry for each node. A damaged record ends only the streams of that node. Thread-safe; its
 * creator closes it, which ends the streams.
 */
final class NodeWatchBroadcaster implements AutoCloseable {

  /** The size of a message, half of the default limit of existing gRPC clients. */
  private static final int CHUNK_BYTES = 2 << 20;

  /** The delay before a client with an ended stream calls the next leader: an election. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  /**
   * The least time between two messages of a stream. A stream gets the first change at once, and at
   * most 200 messages a second in a burst of writes, so that the sending does not delay the writes.
   */
  private static final Duration INTERVAL = Duration.ofMillis(5);

  private static final String LEADERSHIP_ENDED = "this leadership has ended";

  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by lock. The present state of each node, as the message for it.
  private final Map<String, WatchEvent> nodes = new TreeMap<>();
  private final Map<String, RpcException> damaged = new HashMap<>();
  private final Set<Subscription> subscriptions = new HashSet<>();
  private boolean closed;

  // Wakes the sending thread, so that a thread that changes a record does not wait for the streams.
  private final Semaphore dirty = new Semaphore(0);
  private final Thread sender;

  /** Starts to send. */
  NodeWatchBroadcaster(RecordMemory memory) {
    memory.listen(this::changed);
    this.sender = Thread.ofVirtual().name("curator node watch").start(this::send);
  }

  /**
   * Opens a subscription that begins with the selected nodes' states in memory.
   *
   * @param selection the nodes
   * @param feed the feed that wakes when there are messages to send
   * @throws RpcException UNAVAILABLE if the leadership has ended; DATA_LOSS if the record of the
   *     only chosen node is damaged
   */
  Subscription subscribe(NodeSelection selection, CallFeed<WatchEvent> feed) {
    lock.lock();
    try {
      if (closed) {
        throw ended();
      }
      if (selection instanceof NodeSelection.One(String id) && damaged.containsKey(id)) {
        throw damaged.get(id);
      }
      Subscription subscription = new Subscription(selection, feed);
      nodes.forEach(subscription::enqueue);
      subscriptions.add(subscription);
      return subscription;
    } finally {
      lock.unlock();
    }
  }

  private static RpcException ended() {
    return RpcException.unavailable(LEADERSHIP_ENDED + "; call again", RETRY);
  }

  private void changed(RecordSnapshot now, Set<String> keys) {
    lock.lock();
    try {
      keys.forEach(
          key -> RecordKeys.NODES.extractId(key).ifPresent(id -> changed(id, now.state(key))));
    } finally {
      lock.unlock();
    }
    dirty.release();
  }

  private void changed(String id, RecordState state) {
    damaged.remove(id);
    switch (state) {
      case RecordState.Present(long revision, MessageLite record) -> {
        WatchEvent message = present((Node) record);
        nodes.put(id, message);
        publish(id, message);
      }
      case RecordState.Absent() -> {
        nodes.remove(id);
        publish(id, absent(id));
      }
      case RecordState.Damaged(long revision, RpcException reason) -> {
        // A client that watches all nodes keeps the last readable state.
        nodes.remove(id);
        damaged.put(id, reason);
      }
    }
  }

  private void send() {
    long sent = System.nanoTime() - INTERVAL.toNanos();
    try {
      while (true) {
        dirty.acquire();
        Thread.sleep(Duration.ofNanos(Math.max(0, sent + INTERVAL.toNanos() - System.nanoTime())));
        sent = System.nanoTime();
        dirty.drainPermits();
        CallFeed.wakeAll(pending());
        ofDamaged().forEach((feed, reason) -> feed.end(reason));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns the feeds with messages, which the caller wakes later because they take locks of their
   * own.
   */
  private List<CallFeed<WatchEvent>> pending() {
    lock.lock();
    try {
      return subscriptions.stream()
          .filter(Subscription::hasPending)
          .map(subscription -> subscription.feed)
          .toList();
    } finally {
      lock.unlock();
    }
  }

  private Map<CallFeed<WatchEvent>, RpcException> ofDamaged() {
    Map<CallFeed<WatchEvent>, RpcException> feeds = new HashMap<>();
    lock.lock();
    try {
      if (!damaged.isEmpty()) {
        subscriptions.forEach(
            subscription -> {
              if (subscription.selection instanceof NodeSelection.One(String id)
                  && damaged.containsKey(id)) {
                feeds.put(subscription.feed, damaged.get(id));
              }
            });
      }
    } finally {
      lock.unlock();
    }
    return feeds;
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

  @Override
  public void close() {
    List<Subscription> ending;
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      ending = List.copyOf(subscriptions);
    } finally {
      lock.unlock();
    }
    sender.interrupt();
    ending.forEach(subscription -> subscription.feed.end(ended()));
  }

  /** Queues the messages of one stream: for each node the newest unsent state. */
  final class Subscription implements CallFeed.Source<WatchEvent> {
    // Guarded by lock.
    private final Map<String, WatchEvent> pending = new LinkedHashMap<>();
    private boolean markPending;

    private final NodeSelection selection;
    private final CallFeed<WatchEvent> feed;

    private Subscription(NodeSelection selection, CallFeed<WatchEvent> feed) {
      this.selection = selection;
      this.markPending = selection instanceof NodeSelection.All;
      this.feed = feed;
    }

    private void enqueue(String id, WatchEvent state) {
      if (selection.has(id)) {
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

    /** Takes the only pending state, whose message all streams share. */
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
