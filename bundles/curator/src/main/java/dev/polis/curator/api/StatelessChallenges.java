package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.pki.Hmac;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Makes challenges for strangers, and so stores none: a challenge is the time with a code of this
 * object's secret over the time and what the challenge is for, and its answer is a code over the
 * challenge. Thread-safe.
 */
final class StatelessChallenges {

  /** The length of a challenge. */
  static final int BYTES = Long.BYTES + Hmac.BYTES;

  private static final byte[] TIME = "time".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] ANSWER = "answer".getBytes(StandardCharsets.US_ASCII);

  private final byte[] secret = new byte[Hmac.BYTES];
  // The time in a challenge reveals nothing about the machine.
  private final long origin;
  private final LongSupplier nanoTime;

  /**
   * Creates an object that knows only its own challenges.
   *
   * @param nanoTime a monotonic clock
   */
  StatelessChallenges(SecureRandom random, LongSupplier nanoTime) {
    random.nextBytes(secret);
    this.origin = random.nextLong();
    this.nanoTime = nanoTime;
  }

  /**
   * Makes a challenge.
   *
   * @param purpose what it is for; each but the last has a fixed length
   */
  byte[] give(byte[]... purpose) {
    return challenge(nanoTime.getAsLong() + origin, purpose);
  }

  private byte[] challenge(long time, byte[]... purpose) {
    byte[] stamp = ByteBuffer.allocate(Long.BYTES).putLong(time).array();
    byte[] code =
        Hmac.sha256(
            secret,
            Stream.concat(Stream.of(TIME, stamp), Stream.of(purpose)).toArray(byte[][]::new));
    return ByteBuffer.allocate(BYTES).put(stamp).put(code).array();
  }

  /** Returns whether this object has made a challenge of the right length for a purpose. */
  boolean gave(ByteString challenge, byte[]... purpose) {
    return Hmac.same(challenge(time(challenge), purpose), challenge.toByteArray());
  }

  /** Returns whether a challenge of this object is older than a term. */
  boolean isOlder(ByteString challenge, Duration term) {
    return nanoTime.getAsLong() + origin - time(challenge) > term.toNanos();
  }

  private static long time(ByteString challenge) {
    return challenge.asReadOnlyByteBuffer().getLong();
  }

  /** Returns the answer to a challenge, which only this object computes. */
  byte[] answer(byte[] challenge) {
    return Hmac.sha256(secret, ANSWER, challenge);
  }
}
