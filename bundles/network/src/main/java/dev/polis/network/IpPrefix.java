package dev.polis.network;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * Holds an IP address with the length of its network's prefix.
 *
 * @param address the address
 * @param length the length of the prefix in bits
 */
record IpPrefix(InetAddress address, int length) {

  IpPrefix {
    if (length < 0 || length > bits(address)) {
      throw new IllegalArgumentException("whose prefix length is not within 0 to " + bits(address));
    }
  }

  /**
   * Parses an address with or without a prefix length; without one it is a network of its own.
   *
   * @throws IllegalArgumentException if the text is neither; the message continues the text
   */
  static IpPrefix parse(String text) {
    int slash = text.indexOf('/');
    InetAddress address = address(slash < 0 ? text : text.substring(0, slash));
    return new IpPrefix(address, slash < 0 ? bits(address) : length(text.substring(slash + 1)));
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException(
          "which is not an IP address; write it as 192.0.2.7/24 or 2001:db8::7/64", wrong);
    }
  }

  private static int length(String text) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException wrong) {
      throw new IllegalArgumentException(
          "whose prefix length is not a number; write it as 192.0.2.7/24", wrong);
    }
  }

  private static int bits(InetAddress address) {
    return address.getAddress().length * Byte.SIZE;
  }

  /** Returns whether all bits after the prefix are 0. */
  boolean isNetwork() {
    return network().equals(this);
  }

  /** Returns the network of the address. */
  IpPrefix network() {
    byte[] bytes = address.getAddress();
    BigInteger mask =
        BigInteger.ONE.shiftLeft(length).subtract(BigInteger.ONE).shiftLeft(bits(address) - length);
    byte[] masked = new BigInteger(1, bytes).and(mask).toByteArray();
    byte[] network = new byte[bytes.length];
    int count = Math.min(masked.length, network.length);
    System.arraycopy(masked, masked.length - count, network, network.length - count, count);
    try {
      return new IpPrefix(InetAddress.getByAddress(network), length);
    } catch (UnknownHostException impossible) {
      throw new IllegalStateException("as many bytes as the address has", impossible);
    }
  }

  @Override
  public String toString() {
    return address.getHostAddress() + "/" + length;
  }
}
