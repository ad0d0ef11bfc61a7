package dev.polis.kubernetes.worker;

import dev.polis.process.ReadyProbe;
import java.time.Duration;

/**
 * Waits for a ready API server before the start of a program that needs one. A program that starts
 * too early fails its first calls, and repeats them with pauses of up to half a minute. It also
 * takes processor time from the starting API server.
 */
final class ApiServerWait {

  /** The longest wait: ten times the start of an API server on an idle machine. */
  private static final Duration LONGEST = Duration.ofSeconds(40);

  /** The interval of checks, a small part of an API server's start. */
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
   * Waits; returns false if no API server was ready in time, and the caller then starts the program
   * anyway.
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
