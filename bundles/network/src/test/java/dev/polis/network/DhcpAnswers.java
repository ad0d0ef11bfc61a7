package dev.polis.network;

import java.net.Inet4Address;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/** Makes the answers of a DHCP server. */
final class DhcpAnswers {

  static final byte[] HARDWARE = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
  static final String SERVER = "192.0.2.1";

  private DhcpAnswers() {}

  static Inet4Address ip(String text) {
    return Inet4Address.ofLiteral(text);
  }

  static byte[] bytes(String... addresses) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * addresses.length);
    for (String address : addresses) {
      bytes.put(ip(address).getAddress());
    }
    return bytes.array();
  }

  static byte[] seconds(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  /** Returns the options of a usable answer: a lease of ten seconds in a /24. */
  static Map<Integer, byte[]> usable() {
    Map<Integer, byte[]> options = new TreeMap<>();
    options.put(DhcpMessage.SERVER, bytes(SERVER));
    options.put(DhcpMessage.LEASE_TIME, seconds(10));
    options.put(DhcpMessage.SUBNET_MASK, bytes("255.255.255.0"));
    return options;
  }

  /** Returns usable options with another one. */
  static Map<Integer, byte[]> usable(int option, byte[] value) {
    Map<Integer, byte[]> options = usable();
    options.put(option, value);
    return options;
  }

  static Map<Integer, byte[]> without(int option) {
    Map<Integer, byte[]> options = usable();
    options.remove(option);
    return options;
  }

  static DhcpMessage answer(
      DhcpMessage.Type type, int transaction, String address, Map<Integer, byte[]> options) {
    return new DhcpMessage(
        type, true, transaction, 0, false, DhcpMessage.NONE, ip(address), HARDWARE, options);
  }
}
