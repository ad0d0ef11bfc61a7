package dev.polis.rpc;

import io.grpc.Status;

/**
 * Shortens status messages to what a caller's connection takes. They travel in a header, whose size
 * clients limit (gRPC's limit for all headers is 8 KiB), and a header beyond that ends the
 * connection with everybody's calls on it. Refusals quote the offending value, which is as long as
 * the caller made it.
 */
final class StatusMessages {
  /** Half of what clients take; the rest is for trailers. */
  private static final int ENCODED_BYTES = 4 << 10;

  /** Bytes that are kept of the end, where the remedy is. */
  private static final int TAIL_BYTES = 1 << 10;

  private static final String GAP = " … ";

  private StatusMessages() {}

  /** Returns the status itself if its message fits, else with the middle of it left out. */
  static Status fit(Status status) {
    String words = status.getDescription();
    if (words == null || encoded(words) <= ENCODED_BYTES) {
      return status;
    }
    int head = 0;
    int left = ENCODED_BYTES - TAIL_BYTES - encoded(GAP);
    while (left >= width(words.codePointAt(head))) {
      left -= width(words.codePointAt(head));
      head = words.offsetByCodePoints(head, 1);
    }
    int tail = words.length();
    left = TAIL_BYTES;
    while (left >= width(words.codePointBefore(tail))) {
      left -= width(words.codePointBefore(tail));
      tail = words.offsetByCodePoints(tail, -1);
    }
    return status.withDescription(words.substring(0, head) + GAP + words.substring(tail));
  }

  private static int encoded(String words) {
    return words.codePoints().map(StatusMessages::width).sum();
  }

  /**
   * Returns the bytes of a character on the wire: whatever is not printable ASCII goes as %XX for
   * each byte of UTF-8.
   */
  private static int width(int codePoint) {
    if (codePoint >= ' ' && codePoint <= '~') {
      return codePoint == '%' ? 3 : 1;
    }
    return codePoint < 0x80 ? 3 : codePoint < 0x800 ? 6 : codePoint < 0x10000 ? 9 : 12;
  }
}
