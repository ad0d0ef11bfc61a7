package dev.polis.base.boot;

import java.time.Instant;
import java.util.UUID;

/**
 * Identifies one process of a node; the next one may have the same process id.
 *
 * @param id random, 32 hexadecimal digits
 * @param started the time at which this class was loaded, moments after the start of the process
 */
public record RuntimeInstance(String id, Instant started) {
  private static final RuntimeInstance THIS =
      new RuntimeInstance(UUID.randomUUID().toString().replace("-", ""), Instant.now());

  /** Returns this process. */
  public static RuntimeInstance current() {
    return THIS;
  }
}
