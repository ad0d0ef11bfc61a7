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
 * Finds out whether the process uses much more memory or many more threads than before a swap. Used
 * by the thread that swaps.
 */
final class ResourceGuard {
  private static final long MIB = 1024 * 1024;

  /** The name of the pool of classes, which every HotSpot JVM has. */
  private static final String METASPACE = "Metaspace";

  /**
   * Of the heap that is free before a swap, a successor may take three quarters: a JVM whose heap
   * is full ends, and then nothing is reverted but by the next start.
   */
  private static final double ROOM = 0.75;

  private final ResourceLimits limits;

  private Usage before = new Usage(0, 0, Set.of());

  /**
   * What the process uses.
   *
   * @param heap bytes that survived the last collection, and what old objects there are
   * @param metaspace bytes of classes
   * @param threads platform threads
   */
  private record Usage(long heap, long metaspace, Set<Thread> threads) {}

  ResourceGuard(ResourceLimits limits) {
    this.limits = limits;
  }

  /** Measures what is used before the swap. */
  void begin() {
    before = new Usage(heap(), metaspace(), threads());
  }

  /** Returns a text that names an exceeded limit; empty while all limits are kept. */
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

  /** Returns the commonest name, with # for numbers. */
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
    // Unreachable old objects count until the JVM collects them, so it collects them first. The
    // collection pauses the node, so it is done only on a suspicion.
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
   * Returns what survived the last collection. Pools that every collection empties say that
   * themselves; of the pool for old objects, which only a full one empties, all counts.
   */
  private static long heap() {
    long sum = 0;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      if (pool.getType() == MemoryType.HEAP) {
        MemoryUsage usage =
            pool.getMemoryManagerNames().length > 1 ? pool.getCollectionUsage() : pool.getUsage();
        // A pool that was never collected has no usage yet.
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

  /** Returns the platform threads that did not live before the swap. */
  Set<Thread> came() {
    Set<Thread> came = threads();
    came.removeAll(before.threads());
    return came;
  }

  /** Lists platform threads without stopping them, as a dump of their stacks would. */
  private static Set<Thread> threads() {
    ThreadGroup root = Thread.currentThread().getThreadGroup();
    while (root.getParent() != null) {
      root = root.getParent();
    }
    // Threads may start meanwhile: an array that was filled to its end may lack some.
    Thread[] found = new Thread[2 * root.activeCount() + 1];
    int count = root.enumerate(found);
    while (count == found.length) {
      found = new Thread[2 * found.length];
      count = root.enumerate(found);
    }
    return new HashSet<>(Arrays.asList(found).subList(0, count));
  }
}
