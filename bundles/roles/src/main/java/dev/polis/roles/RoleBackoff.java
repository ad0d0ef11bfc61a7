package dev.polis.roles;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Pauses between attempts to reach the leader, longer each time, and by chance never the same. */
final class RoleBackoff {

  /** An election without contention takes about this long. */
  private static final Duration FIRST = Duration.ofMillis(250);

  /** Long enough to be no load on a cluster that comes back, short enough for a person. */
  private static final Duration LONGEST = Duration.ofSeconds(5);

  private static final double GROWTH = 1.5;

  private long millis = FIRST.toMillis();

  void reset() {
    millis = FIRST.toMillis();
  }

  void pause() throws InterruptedException {
    Thread.sleep(millis / 2 + ThreadLocalRandom.current().nextLong(millis));
    millis = Math.min(LONGEST.toMillis(), (long) (millis * GROWTH));
  }
}
