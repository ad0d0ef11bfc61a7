package dev.polis.rpc;

import java.time.Duration;

/**
 * Limits the calls of strangers, who have no certificate of the cluster, at all ports of the
 * process together.
 *
 * @param perConnection open calls of one connection; more are refused
 * @param perSource open calls of one source, as in {@link ConnectionLimits}; more are refused
 * @param open open calls in all; when they are used up, the source with the most calls loses its
 *     oldest one to a new call
 * @param requestBytes bytes of requests in all; those of a stream count until a handler has taken
 *     them, others until the call ends; when the limit is exceeded, the largest call of the source
 *     with the most bytes ends
 * @param time the longest time of a call
 */
public record StrangerCalls(
    int perConnection, int perSource, int open, int requestBytes, Duration time) {
  /**
   * The default limits. A stranger asks for the leader and the CA, registers a node, or fetches a
   * certificate: one call at a time, a second each; a follower of the leader calls again each
   * minute. 16 on a connection and 64 from one source let a rack behind one address start at once.
   * An open call takes some 12 KiB, and up to 16 KiB for unknown fields of its request, so 256 take
   * 7 MiB. 8 MiB are two of the largest requests.
   */
  public static final StrangerCalls DEFAULT =
      new StrangerCalls(16, 64, 256, 8 << 20, Duration.ofMinutes(1));

  /** Refuses limits under which no stranger could call. */
  public StrangerCalls {
    if (perConnection < 1 || perSource < 1 || open < 1 || requestBytes < 1 || !time.isPositive()) {
      throw new IllegalArgumentException(
          "limits of strangers' calls must be positive: perConnection=%d perSource=%d open=%d requestBytes=%d time=%s"
              .formatted(perConnection, perSource, open, requestBytes, time));
    }
  }
}
