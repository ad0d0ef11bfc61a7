package dev.polis.api.curator;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;

/**
 * Makes tickets with which nodes register, and reads when they end: a ticket is 24 random bytes and
 * its end.
 */
public final class TicketTerm {

  /** Length of a ticket in bytes. */
  public static final int BYTES = 32;

  /** Long enough for a person to start some machines; a forgotten ticket is soon of no use. */
  public static final Duration LIFETIME = Duration.ofHours(24);

  private static final int RANDOM_BYTES = BYTES - Long.BYTES;

  private TicketTerm() {}

  /** Makes a ticket that ends after {@link #LIFETIME}. */
  public static byte[] create(SecureRandom random, Instant now) {
    byte[] secret = new byte[BYTES];
    random.nextBytes(secret);
    return of(Arrays.copyOf(secret, RANDOM_BYTES), now.plus(LIFETIME));
  }

  /**
   * Makes a ticket of a secret and an end.
   *
   * @param secret the random bytes
   */
  public static byte[] of(byte[] secret, Instant end) {
    return ByteBuffer.allocate(BYTES)
        .put(secret, 0, RANDOM_BYTES)
        .putLong(end.getEpochSecond())
        .array();
  }

  /**
   * Returns whether a ticket has not ended. A ticket of an older version names no end, and counts
   * as ended: what stands in that place is far in the past or the future.
   */
  public static boolean isValid(byte[] ticket, Instant now) {
    if (ticket.length != BYTES) {
      return false;
    }
    long left = seconds(ticket) - now.getEpochSecond();
    // Twice, since the clocks of two leaders may differ.
    return left > 0 && left <= 2 * LIFETIME.toSeconds();
  }

  /**
   * Returns the end of a ticket that was valid before.
   *
   * @throws java.time.DateTimeException if no ticket of this version has these bytes
   */
  public static Instant end(byte[] ticket) {
    return Instant.ofEpochSecond(seconds(ticket));
  }

  private static long seconds(byte[] ticket) {
    return ByteBuffer.wrap(ticket).getLong(RANDOM_BYTES);
  }
}
