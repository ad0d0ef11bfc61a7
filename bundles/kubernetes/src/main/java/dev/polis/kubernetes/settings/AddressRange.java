package dev.polis.kubernetes.settings;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;

/**
 * Names a range of IPv4 addresses, such as {@code 10.96.0.0/16}.
 *
 * @param first its first address as a number, with zeros after the prefix
 * @param prefix the number of leading bits that all its addresses share, 8 to 30
 */
public record AddressRange(int first, int prefix) {

  private static final int BITS = 32;

  // A wider range would be a whole former class A; a narrower one has too few addresses.
  private static final int WIDEST = 8;
  private static final int NARROWEST = 30;

  /** Refuses a range with bits after its prefix, and one that is too wide or too narrow. */
  public AddressRange {
    if (prefix < WIDEST || prefix > NARROWEST) {
      throw new IllegalArgumentException(
          "has no prefix of /%d to /%d".formatted(WIDEST, NARROWEST));
    }
    if ((first & ~mask(prefix)) != 0) {
      throw new IllegalArgumentException(
          "has bits behind its prefix; did you mean %s/%d?"
              .formatted(text(first & mask(prefix)), prefix));
    }
  }

  /**
   * Reads a range.
   *
   * @throws IllegalArgumentException with a message that begins with "which …"
   */
  public static AddressRange of(String text) {
    int slash = text.indexOf('/');
    try {
      if (slash > 0
          && InetAddress.ofLiteral(text.substring(0, slash)) instanceof Inet4Address address) {
        return new AddressRange(number(address), Integer.parseInt(text.substring(slash + 1)));
      }
    } catch (NumberFormatException notNumeric) {
      throw new IllegalArgumentException("has a prefix that is not a number", notNumeric);
    }
    throw new IllegalArgumentException(
        "is not a range of IPv4 addresses; write one such as 10.96.0.0/16");
  }

  /** Returns the address at an index, from 0. */
  public InetAddress at(int place) {
    if (place < 0 || (long) place >= 1L << (BITS - prefix)) {
      throw new IllegalArgumentException("%s has no place %d".formatted(this, place));
    }
    return address(first + place);
  }

  /** Returns whether two ranges have an address in common. */
  public boolean overlaps(AddressRange other) {
    int common = mask(Math.min(prefix, other.prefix));
    return (first & common) == (other.first & common);
  }

  private static int mask(int prefix) {
    return -1 << (BITS - prefix);
  }

  private static int number(InetAddress address) {
    return ByteBuffer.wrap(address.getAddress()).getInt();
  }

  private static InetAddress address(int number) {
    try {
      return InetAddress.getByAddress(ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
    } catch (UnknownHostException e) {
      throw new IllegalStateException("four bytes are always an address", e);
    }
  }

  private static String text(int number) {
    return address(number).getHostAddress();
  }

  /** Returns the range in the form of the configuration. */
  @Override
  public String toString() {
    return text(first) + "/" + prefix;
  }
}
