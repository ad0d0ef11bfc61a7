package dev.polis.api.kubernetes;

import java.net.InetAddress;

/**
 * Gives the two places that a node at a loopback address has in the range of links: 127.a.b.c has
 * the pair number b × 256 + c. Nodes take their addresses by this rule, and the curator certifies
 * no others.
 *
 * @param host the even place, for the node itself
 * @param worker the odd place, for its worker's sandbox
 */
public record LoopbackLink(int host, int worker) {

  /** The number of bits of a place, the least width of a range of links. */
  public static final int BITS = 17;

  private static final int BYTE = 0xff;

  /** Returns the places of the node at an address. */
  public static LoopbackLink of(InetAddress loopback) {
    byte[] bytes = loopback.getAddress();
    int pair = (bytes[bytes.length - 2] & BYTE) * (BYTE + 1) + (bytes[bytes.length - 1] & BYTE);
    return new LoopbackLink(2 * pair, 2 * pair + 1);
  }
}
