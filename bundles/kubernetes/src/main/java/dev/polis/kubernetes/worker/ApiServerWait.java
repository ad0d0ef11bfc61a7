package dev.polis.kubernetes.worker;

import dev.polis.process.ReadyProbe;
import java.time.Duration;

/**
 * Waits until an API server is ready, before a program is started that is of no use without one. A
 * program that starts earlier fails its first calls and makes the next ones after pauses that grow
 * to half a minute; and it takes the time of the cores on which the API server starts.
 */
final class ApiServerWait {

  /** Ten times what an API server takes on a machine with nothing else to do. */
  private static final Duration LONGEST = Duration.ofSeconds(40);

  /** A small part of what the start of an API server takes. */
  private static final Duration POLL = Duration.ofMillis(100);

  private final ReadyProbe api;
  private final Duration longest;

  ApiServerWait(ReadyProbe api) {
    this(api, LONGEST);
  }

  ApiServerWait(ReadyProbe api, Duration longest) {
    this.api = api;
    this.longest = longest;
  }

  /**
   * Waits; returns false if none was ready in time, and the program is to be started all the same.
   */
  boolean await() throws InterruptedException {
    long end = System.nanoTime() + longest.toNanos();
    while (!api.ready()) {
      if (System.nanoTime() >= end) {
        return false;
      }
      Thread.sleep(POLL);
    }
    return true;
  }
}
