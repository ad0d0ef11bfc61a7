package dev.polis.cluster.it;

import dev.polis.wire.curator.Node;
import dev.polis.wire.curator.WatchEvent;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Watches the nodes of a cluster through all ends of the stream, and checks the events: none equals
 * the one before it in the stream, and no writer's number decreases.
 */
final class RecordWatcher implements AutoCloseable {

  private final OwnerApi owner;
  private final String node;
  private final List<NumberedWriter> writers;
  private final long[] seen;
  private final AtomicLong events = new AtomicLong();
  private final AtomicLong streams = new AtomicLong();
  private final Queue<String> troubles = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean over;
  private WatchEvent former = WatchEvent.getDefaultInstance();

  RecordWatcher(OwnerApi owner, String node, List<NumberedWriter> writers) {
    this.owner = owner;
    this.node = node;
    this.writers = writers;
    this.seen = new long[writers.size()];
    this.thread = Thread.ofVirtual().name("watcher of records").start(this::run);
  }

  private void run() {
    while (!over) {
      streams.incrementAndGet();
      former = WatchEvent.getDefaultInstance();
      try {
        owner.watchRecords(this::accept);
      } catch (StatusException e) {
        if (e.getStatus().getCode() != Status.Code.UNAVAILABLE) {
          trouble("the stream ended with " + e.getStatus());
        }
      } catch (Exception e) {
        trouble("the stream ended with " + e);
      }
    }
  }

  private void trouble(String what) {
    if (!over) {
      troubles.add(what);
    }
  }

  private void accept(WatchEvent event) {
    events.incrementAndGet();
    if (event.getNodesCount() > 0 && event.getNodesList().equals(former.getNodesList())) {
      troubles.add("an event came twice");
    }
    former = event;
    event.getNodesList().stream().filter(each -> each.getId().equals(node)).forEach(this::compare);
  }

  private synchronized void compare(Node record) {
    for (int i = 0; i < seen.length; i++) {
      long now = writers.get(i).in(record.getLabels());
      if (now < seen[i]) {
        troubles.add("%s went from %d to %d".formatted(writers.get(i).label(), seen[i], now));
      }
      seen[i] = now;
    }
  }

  /** Returns whether the last number of each writer has arrived. */
  synchronized boolean isUpToDate() {
    for (int i = 0; i < seen.length; i++) {
      if (seen[i] < writers.get(i).acknowledged()) {
        return false;
      }
    }
    return true;
  }

  long events() {
    return events.get();
  }

  /** Returns the number of times the stream was opened. */
  long streams() {
    return streams.get();
  }

  List<String> troubles() {
    return List.copyOf(troubles);
  }

  @Override
  public void close() {
    over = true;
    thread.interrupt();
  }
}
