package dev.polis.node.init;

import dev.polis.node.exit.RootCause;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Reaps orphans, which the kernel gives to process 1. Children that this process started itself
 * belong to the JDK, which waits for each and would lose their exit status: so a child is only
 * reaped when it was found twice, a grace apart. The JDK reaps its own in microseconds.
 */
public final class ChildReaper implements AutoCloseable {
  /** Far longer than the JDK takes for its own children, and short for a zombie. */
  static final Duration GRACE = Duration.ofSeconds(1);

  private final ChildTable table;
  private final Consumer<String> log;
  private final Semaphore wakes = new Semaphore(0);
  private final Thread thread = Thread.ofPlatform().daemon().name("reaper").unstarted(this::run);
  private Set<Long> suspects = Set.of();

  public ChildReaper(ChildTable table, Consumer<String> log) {
    this.table = table;
    this.log = log;
  }

  public void start() {
    thread.start();
  }

  /** Starts a sweep soon: a child has exited. */
  void wake() {
    wakes.release();
  }

  /**
   * Reaps the exited children that the last sweep found already.
   *
   * @return whether another sweep is due after the grace
   */
  boolean sweep() throws IOException {
    List<Long> exited = table.exited();
    Set<Long> fresh = new HashSet<>();
    for (long pid : exited) {
      if (suspects.contains(pid)) {
        table.reap(pid);
      } else {
        fresh.add(pid);
      }
    }
    suspects = fresh;
    return !fresh.isEmpty();
  }

  private void run() {
    try {
      while (true) {
        boolean again = sweepLogged();
        if (again) {
          TimeUnit.NANOSECONDS.sleep(GRACE.toNanos());
        } else {
          // Signals of several children may arrive as one, so a sweep is due now and then without
          // any.
          boolean woken = wakes.tryAcquire(10 * GRACE.toMillis(), TimeUnit.MILLISECONDS);
          if (woken) {
            wakes.drainPermits();
          }
        }
      }
    } catch (InterruptedException e) {
      // Interrupted by close: the only way this thread ends.
      Thread.currentThread().interrupt();
    }
  }

  private boolean sweepLogged() {
    try {
      return sweep();
    } catch (IOException | RuntimeException e) {
      log.accept("orphans could not be reaped: " + RootCause.of(e));
      return true;
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
