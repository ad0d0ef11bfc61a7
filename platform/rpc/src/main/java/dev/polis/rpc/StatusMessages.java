package dev.polis.rpc;

import io.grpc.Status;

/**
 * Shortens status messages to the size that a caller's connection accepts. They travel in a header,
 * whose size clients limit (gRPC's limit for all headers is 8 KiB), and a longer header ends the
 * connection with all its calls. Refusals quote the offending value, which may have any length.
 */
final class StatusMessages {
  /** The largest message on the wire, half of the clients' limit; the rest is for trailers. */
  private static final int ENCODED_BYTES = 4 << 10;

  /** The number of bytes kept of the end, where the remedy is. */
  private static final int TAIL_BYTES = 1 << 10;

  private static final String GAP = " … ";

  private StatusMessages() {}

  /** Returns the status, without the middle of its message if the message is too long. */
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
   * Returns the number of bytes of a character on the wire; each byte of UTF-8 outside printable
   * ASCII becomes %XX.
   */
  private static int width(int codePoint) {
    if (codePoint >= ' ' && codePoint <= '~') {
      return codePoint == '%' ? 3 : 1;
    }
    return codePoint < 0x80 ? 3 : codePoint < 0x800 ? 6 : codePoint < 0x10000 ? 9 : 12;
  }
}
