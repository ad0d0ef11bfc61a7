package dev.polis.kubernetes.worker;

import dev.polis.process.ReadyProbe;
import java.time.Duration;

/**
 * Waits until an API server is ready, before a program is started that is of no use without one. A
 * program that starts earlier fails its first calls and makes the next ones after pauses that grow
 * to half a minute; and it takes the time of the cores on which the API server starts.
 */
final class ApiServerWait {

  /** Ten times the start of an API server on an idle machine. */
  private static final Duration LONGEST = Duration.ofSeconds(40);

  /** A small part of the time of an API server's start. */
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
   * Waits; returns false if no API server was ready in time, and the caller should start the
   * program all the same.
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
