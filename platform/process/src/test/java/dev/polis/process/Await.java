package dev.polis.process;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Waits for what happens elsewhere. */
final class Await {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private Await() {}

  /** Something that becomes true. */
  interface Condition {
    boolean holds() throws Exception;
  }

  static void until(String what, Condition condition) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.holds()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("waited " + PATIENCE + " in vain until " + what);
      }
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
  }
}
