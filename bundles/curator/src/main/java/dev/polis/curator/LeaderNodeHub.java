package dev.polis.curator;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.KeyValue;
import dev.polis.etcd.WatchEvent;
import dev.polis.etcd.WatchOptions;
import dev.polis.etcd.WatchUpdate;
import dev.polis.logtree.Log;
import dev.polis.wire.curator.stored.Node;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * One etcd watch of all nodes for any number of listeners. A slow listener skips states in between
 * and costs no more than one entry for each node.
 */
final class LeaderNodeHub implements AutoCloseable {

  private static final String OVER = "this leadership is over";

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ready = lock.newCondition();
  private final Map<String, Node> nodes = new TreeMap<>();
  private final Set<Listener> listeners = new HashSet<>();
  private final EtcdClient etcd;
  private final Log log;
  private final Thread reader;
  private boolean listed;
  private boolean closed;
  private String closedBecause = "";

  LeaderNodeHub(EtcdClient etcd, Log log) {
    this.etcd = etcd;
    this.log = log;
    this.reader = Thread.ofVirtual().name("curator node watch").start(this::read);
  }

  /** Says that the hub is closed: this leadership is over, or its watch has failed. */
  static final class ClosedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ClosedException(String reason) {
      super(reason);
    }
  }

  /**
   * Opens a listener that is first told all nodes there are.
   *
   * @param chosen which nodes it wants to hear of, by id
   */
  Listener listen(Predicate<String> chosen) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!listed && !closed) {
        ready.await();
      }
      requireOpen();
      Listener listener = new Listener(chosen);
      nodes.forEach((id, node) -> listener.offer(id, Optional.of(node)));
      listeners.add(listener);
      return listener;
    } finally {
      lock.unlock();
    }
  }

  private void read() {
    try (EtcdWatch watch = etcd.watch(RecordKeys.NODES.range(), WatchOptions.snapshot())) {
      while (true) {
        see(watch.next());
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

  private void see(WatchUpdate update) {
    lock.lock();
    try {
      switch (update) {
        case WatchUpdate.Snapshot snapshot -> replaceAll(snapshot);
        case WatchUpdate.Changes changes -> changes.events().forEach(this::change);
        case WatchUpdate.Progress progress -> {}
      }
    } finally {
      lock.unlock();
    }
  }

  private void replaceAll(WatchUpdate.Snapshot snapshot) {
    Map<String, Node> now = new TreeMap<>();
    for (KeyValue stored : snapshot.keys()) {
      Node node = NodeRecords.parse(stored);
      now.put(node.getId(), node);
    }
    Set<String> gone = new HashSet<>(nodes.keySet());
    gone.removeAll(now.keySet());
    gone.forEach(id -> tell(id, Optional.empty()));
    now.forEach(
        (id, node) -> {
          if (!node.equals(nodes.get(id))) {
            tell(id, Optional.of(node));
          }
        });
    nodes.clear();
    nodes.putAll(now);
    listed = true;
    ready.signalAll();
  }

  private void change(WatchEvent event) {
    Optional<String> id = RecordKeys.NODES.extractId(event.key());
    if (id.isEmpty()) {
      return;
    }
    if (event.type() == WatchEvent.Type.DELETE) {
      nodes.remove(id.get());
      tell(id.get(), Optional.empty());
    } else {
      Node node = NodeRecords.parse(event.kv());
      nodes.put(id.get(), node);
      tell(id.get(), Optional.of(node));
    }
  }

  private void tell(String id, Optional<Node> state) {
    listeners.forEach(listener -> listener.offer(id, state));
  }

  private void requireOpen() {
    if (closed) {
      throw new ClosedException(closedBecause);
    }
  }

  private void end(String reason) {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      closedBecause = reason;
      ready.signalAll();
      listeners.forEach(listener -> listener.arrived.signalAll());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    end(OVER);
    reader.interrupt();
  }

  /** What one caller still has to hear. Read by one thread. */
  final class Listener implements AutoCloseable {
    private final Condition arrived = lock.newCondition();
    private final Map<String, Optional<Node>> news = new LinkedHashMap<>();
    private final Predicate<String> chosen;

    private Listener(Predicate<String> chosen) {
      this.chosen = chosen;
    }

    private void offer(String id, Optional<Node> state) {
      if (chosen.test(id)) {
        news.remove(id);
        news.put(id, state);
        arrived.signal();
      }
    }

    /**
     * Returns what is new, without waiting; a node that is gone has no state.
     *
     * @throws ClosedException if the leadership is over
     */
    Map<String, Optional<Node>> poll() {
      lock.lock();
      try {
        requireOpen();
        Map<String, Optional<Node>> taken = new LinkedHashMap<>(news);
        news.clear();
        return taken;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Waits for news.
     *
     * @throws ClosedException if the leadership is over
     */
    Map<String, Optional<Node>> next() throws InterruptedException {
      lock.lockInterruptibly();
      try {
        while (news.isEmpty() && !closed) {
          arrived.await();
        }
        return poll();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void close() {
      lock.lock();
      try {
        listeners.remove(this);
      } finally {
        lock.unlock();
      }
    }
  }
}
