package dev.polis.rpc;

import dev.polis.logtree.Log;
import io.grpc.Status;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.Comparator;
import java.util.List;
import javax.management.ListenerNotFoundException;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;

/**
 * Measures whether the heap has room for new work. It does not count garbage: it reads the use
 * right after each collection of the whole heap. When the heap is nearly full, the JVM collects it
 * every few megabytes. Safe for use by any thread.
 */
final class HeapRoom implements AutoCloseable {
  /**
   * The use in eighths of the heap from which the heap counts as full. The last eighth lets
   * heartbeats and running calls finish: in the smallest heap, 96 MiB, it holds three of the
   * largest requests.
   */
  private static final int FULL_EIGHTHS = 7;

  private static final long MEBIBYTE = 1 << 20;

  private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
  private final List<MemoryPoolMXBean> pools =
      ManagementFactory.getMemoryPoolMXBeans().stream()
          .filter(pool -> pool.getType() == MemoryType.HEAP)
          .toList();
  private final NotificationEmitter collections = (NotificationEmitter) collectorOfAll();
  private final NotificationListener listener = (_, _) -> collected();
  private final long most;
  private final Log log;

  /** The bytes in use after the last collection; 0 while there is room. */
  private volatile long full;

  /** Watches this JVM. */
  HeapRoom(Log log) {
    this(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getMax(), log);
  }

  /**
   * Watches this JVM as if its heap were of another size.
   *
   * @param bytes the assumed size
   */
  HeapRoom(long bytes, Log log) {
    this.most = bytes;
    this.log = log;
    collections.addNotificationListener(listener, null, null);
  }

  /** Returns the collector of the whole heap; the others have fewer pools. */
  private static GarbageCollectorMXBean collectorOfAll() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .max(Comparator.comparingInt(collector -> collector.getMemoryPoolNames().length))
        .orElseThrow();
  }

  private void collected() {
    // Takes the use just after the collection: when this thread runs, there may be garbage again.
    long used = pools.stream().mapToLong(pool -> pool.getCollectionUsage().getUsed()).sum();
    boolean was = isFull();
    full = used >= limit() ? used : 0;
    if (isFull() && !was) {
      log.warning("%s", words());
    } else if (was && !isFull()) {
      log.info("the heap has room again: %d of %d MiB are in use", used / MEBIBYTE, mebibytes());
    }
  }

  private long limit() {
    return most / 8 * FULL_EIGHTHS;
  }

  /** Returns the largest size of the heap in bytes. */
  long most() {
    return most;
  }

  private long mebibytes() {
    return most / MEBIBYTE;
  }

  /** Returns whether the node refuses new work; costs one read of memory. */
  boolean isFull() {
    return full > 0;
  }

  /**
   * Collects a full heap, which allocates too little to collect by itself. The host calls it from
   * time to time.
   */
  void look() {
    if (isFull()) {
      memory.gc();
    }
  }

  /** Returns the status for a refused call. */
  Status refusal() {
    return Status.RESOURCE_EXHAUSTED.withDescription(words());
  }

  private String words() {
    return "the node's heap is full: %d of %d MiB are in use, and from %d MiB on new calls are refused; try again in some seconds, or start the node with a larger heap (polis up --heap)"
        .formatted(full / MEBIBYTE, mebibytes(), limit() / MEBIBYTE);
  }

  @Override
  public void close() {
    try {
      collections.removeNotificationListener(listener);
    } catch (ListenerNotFoundException closedBefore) {
      // An earlier close has removed the listener.
    }
  }
}
