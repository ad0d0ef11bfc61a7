package dev.polis.plugins.swap;

import dev.polis.health.HealthCondition;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Notices versions whose classes stay in memory after their removal because an object still holds
 * their class loader. Thread-safe; its thread lives while a version is followed.
 */
final class RetiredVersions implements AutoCloseable {
  private static final String HELD = "old-version-held";

  private final PluginsHealth health;
  private final Duration patience;
  private final ReferenceQueue<ClassLoader> unloaded = new ReferenceQueue<>();

  // Guarded by this.
  private final Set<Retired> followed = new HashSet<>();
  private Thread followerOrNull; // null while no version is followed
  private boolean closed;

  /**
   * @param patience the time after which this class collects the whole heap to look for a version
   */
  RetiredVersions(PluginsHealth health, Duration patience) {
    this.health = health;
    this.patience = patience;
  }

  /** Is an uninstalled version. */
  private static final class Retired extends PhantomReference<ClassLoader> {
    final String name;

    /**
     * The version's threads, weakly held: otherwise an ended thread and its task would stay in
     * memory.
     */
    final List<WeakReference<Thread>> threads;

    final long began = System.nanoTime();

    /** True if the version was in memory after a collection that should have removed it. */
    boolean held;

    Retired(
        String name, ClassLoader loader, List<Thread> threads, ReferenceQueue<ClassLoader> queue) {
      super(loader, queue);
      this.name = name;
      this.threads = threads.stream().map(WeakReference::new).toList();
    }

    String words() {
      String running =
          threads.stream()
              .map(WeakReference::get)
              .filter(each -> each != null && each.isAlive())
              .map(Thread::getName)
              .sorted()
              .collect(Collectors.joining(", "));
      return name
          + (running.isEmpty()
              ? " by what cannot be told from inside; a heap dump shows it (jcmd PID GC.heap_dump FILE)"
              : " by its threads, which run on: " + running);
    }
  }

  /**
   * Follows an uninstalled version.
   *
   * @param name the name of the bundle, and its version
   * @param loader the loader of its classes, which is not held
   * @param threads its threads that have not ended
   */
  synchronized void follow(String name, ClassLoader loader, List<Thread> threads) {
    if (closed) {
      return;
    }
    followed.add(new Retired(name, loader, threads, unloaded));
    if (followerOrNull == null) {
      followerOrNull = Thread.ofVirtual().name("swap-retired").start(this::follow);
    }
  }

  private void follow() {
    try {
      while (look()) {
        // A tenth of the patience: no caller waits for it, and each look takes a few instructions.
        Thread.sleep(patience.dividedBy(10));
      }
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    }
  }

  /** Forgets unloaded versions and shows held ones; returns whether any are still followed. */
  private synchronized boolean look() {
    for (Object gone = unloaded.poll(); gone != null; gone = unloaded.poll()) {
      followed.remove(gone);
    }
    long now = System.nanoTime();
    List<Retired> overdue =
        followed.stream()
            .filter(each -> !each.held && now - each.began > patience.toNanos())
            .toList();
    if (!overdue.isEmpty()) {
      System.gc();
      // The queue has them at the next look if this collection has removed them.
      overdue.forEach(each -> each.held = true);
    } else {
      show();
    }
    if (followed.isEmpty()) {
      followerOrNull = null;
    }
    return !followed.isEmpty();
  }

  private void show() {
    List<Retired> held = followed.stream().filter(each -> each.held).toList();
    if (held.isEmpty()) {
      health.clear(HELD);
      return;
    }
    health.set(
        HealthCondition.degraded(
            HELD,
            "the classes of versions that were replaced are held in memory: "
                + held.stream().map(Retired::words).sorted().collect(Collectors.joining("; ")),
            "make the plugin release all its resources at its deactivation; \"polisctl node restart --runtime\" frees the memory"));
  }

  /** Ends the observation of all versions. */
  @Override
  public synchronized void close() {
    closed = true;
    if (followerOrNull != null) {
      followerOrNull.interrupt();
    }
  }
}
