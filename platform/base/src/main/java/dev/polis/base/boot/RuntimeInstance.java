package dev.polis.base.boot;

import java.time.Instant;
import java.util.UUID;

/**
 * Tells one process of a node from the next, which may have the same process id.
 *
 * @param id random, 32 hexadecimal digits
 * @param started when this class was loaded, moments after the start of the process
 */
public record RuntimeInstance(String id, Instant started) {
  private static final RuntimeInstance THIS =
      new RuntimeInstance(UUID.randomUUID().toString().replace("-", ""), Instant.now());

  /** Returns this process. */
  public static RuntimeInstance current() {
    return THIS;
  }
}
