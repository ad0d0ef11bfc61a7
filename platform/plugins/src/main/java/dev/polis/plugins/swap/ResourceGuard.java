package dev.polis.plugins.swap;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Measures whether the process uses much more memory or many more threads than before a swap. The
 * swapping thread uses it.
 */
final class ResourceGuard {
  private static final long MIB = 1024 * 1024;

  /** The name of the memory pool of classes in each HotSpot JVM. */
  private static final String METASPACE = "Metaspace";

  /**
   * The part of the free heap that a successor may take: a JVM with a full heap ends, and then only
   * the next start can revert the swap.
   */
  private static final double ROOM = 0.75;

  private final ResourceLimits limits;

  private Usage before = new Usage(0, 0, Set.of());

  /**
   * Holds the use of the process.
   *
   * @param heap the bytes that survived the last collection, and all old objects
   * @param metaspace the bytes of classes
   * @param threads platform threads
   */
  private record Usage(long heap, long metaspace, Set<Thread> threads) {}

  ResourceGuard(ResourceLimits limits) {
    this.limits = limits;
  }

  /** Measures the use before the swap. */
  void begin() {
    before = new Usage(heap(), metaspace(), threads());
  }

  /** Returns a text about an exceeded limit; empty if the process keeps all limits. */
  Optional<String> excess() {
    return threadsExcess().or(this::metaspaceExcess).or(this::heapExcess);
  }

  private Optional<String> threadsExcess() {
    Set<Thread> now = threads();
    int growth = now.size() - before.threads().size();
    if (growth <= limits.threads()) {
      return Optional.empty();
    }
    return Optional.of(
        "the process has %d threads, %d more than before the swap, and %d more are allowed (threads.growth of dev.polis.plugins); most new ones are named \"%s\""
            .formatted(now.size(), growth, limits.threads(), commonest(came())));
  }

  /** Returns the most frequent name, with # for numbers. */
  private static String commonest(Set<Thread> threads) {
    Map<String, Long> names =
        threads.stream()
            .map(thread -> thread.getName().replaceAll("[0-9]+", "#"))
            .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    return names.entrySet().stream()
        .max(Comparator.comparing(Map.Entry<String, Long>::getValue))
        .map(Map.Entry::getKey)
        .orElse("");
  }

  private Optional<String> metaspaceExcess() {
    long now = metaspace();
    if (now - before.metaspace() <= limits.metaspace()) {
      return Optional.empty();
    }
    return Optional.of(
        "the classes of the process take %d MiB, %d MiB more than before the swap, and %d MiB more are allowed (metaspace.growth.mib of dev.polis.plugins)"
            .formatted(now / MIB, (now - before.metaspace()) / MIB, limits.metaspace() / MIB));
  }

  private Optional<String> heapExcess() {
    long most = Runtime.getRuntime().maxMemory();
    long allowed = (long) Math.min(limits.heap(), (most - before.heap()) * ROOM);
    if (heap() - before.heap() <= allowed) {
      return Optional.empty();
    }
    // Unreachable old objects count until the JVM collects them, so this collects first. The
    // collection pauses the node, so it comes only after a suspicion.
    System.gc();
    long now = heap();
    if (now - before.heap() <= allowed) {
      return Optional.empty();
    }
    return Optional.of(
        "%d MiB are alive on the heap, %d MiB more than before the swap, and %d MiB more are allowed (heap.growth.mib of dev.polis.plugins, and three quarters of what is free of %d MiB)"
            .formatted(now / MIB, (now - before.heap()) / MIB, allowed / MIB, most / MIB));
  }

  /**
   * Returns the bytes that survived the last collection. A pool that each collection empties
   * reports them itself; in the pool of old objects, which only a full collection empties, all
   * bytes count.
   */
  private static long heap() {
    long sum = 0;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      if (pool.getType() == MemoryType.HEAP) {
        MemoryUsage usage =
            pool.getMemoryManagerNames().length > 1 ? pool.getCollectionUsage() : pool.getUsage();
        // A pool without a collection has no usage yet.
        sum += usage == null ? 0 : usage.getUsed();
      }
    }
    return sum;
  }

  private static long metaspace() {
    return ManagementFactory.getMemoryPoolMXBeans().stream()
        .filter(pool -> pool.getName().equals(METASPACE))
        .mapToLong(pool -> pool.getUsage().getUsed())
        .sum();
  }

  /** Returns the platform threads that lived before the swap. */
  Set<Thread> known() {
    return before.threads();
  }

  /** Returns the platform threads that have started since the swap began. */
  Set<Thread> came() {
    Set<Thread> came = threads();
    came.removeAll(before.threads());
    return came;
  }

  /** Lists platform threads without stopping them, unlike a dump of their stacks. */
  private static Set<Thread> threads() {
    ThreadGroup root = Thread.currentThread().getThreadGroup();
    while (root.getParent() != null) {
      root = root.getParent();
    }
    // Threads may start meanwhile: a full array may lack some.
    Thread[] found = new Thread[2 * root.activeCount() + 1];
    int count = root.enumerate(found);
    while (count == found.length) {
      found = new Thread[2 * found.length];
      count = root.enumerate(found);
    }
    return new HashSet<>(Arrays.asList(found).subList(0, count));
  }
}
