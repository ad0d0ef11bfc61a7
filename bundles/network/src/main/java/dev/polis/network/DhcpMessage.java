package dev.polis.network;

import java.io.ByteArrayOutputStream;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Is a message of DHCP, in the format of RFC 2131.
 *
 * @param reply true if it comes from a server
 * @param transaction the number that a client chose for the exchange
 * @param seconds the time since the client began, in seconds
 * @param broadcast asks the server to answer to all machines, since the client has no address
 * @param client the present address of the client; 0.0.0.0 if it has none
 * @param yours the address that the server gives; 0.0.0.0 if none
 * @param hardware the client's Ethernet address
 * @param options the options by their code, without padding
 */
record DhcpMessage(
    Type type,
    boolean reply,
    int transaction,
    int seconds,
    boolean broadcast,
    Inet4Address client,
    Inet4Address yours,
    byte[] hardware,
    Map<Integer, byte[]> options) {

  /** Lists the types that a client sends and receives, with their codes. */
  enum Type {
    DISCOVER(1),
    OFFER(2),
    REQUEST(3),
    ACK(5),
    NAK(6);

    private final int code;

    Type(int code) {
      this.code = code;
    }
  }

  // Codes of options, from RFC 2132, 3442, 4039 and 4361.
  static final int SUBNET_MASK = 1;
  static final int ROUTER = 3;
  static final int NAME_SERVERS = 6;
  static final int HOST_NAME = 12;
  static final int MTU = 26;
  static final int TIME_SERVERS = 42;
  static final int REQUESTED_ADDRESS = 50;
  static final int LEASE_TIME = 51;
  private static final int OVERLOAD = 52;
  private static final int TYPE = 53;
  static final int SERVER = 54;
  static final int PARAMETERS = 55;
  static final int LARGEST_MESSAGE = 57;
  static final int RENEWAL_TIME = 58;
  static final int REBINDING_TIME = 59;
  static final int VENDOR_CLASS = 60;
  static final int CLIENT_ID = 61;
  static final int RAPID_COMMIT = 80;
  static final int CLASSLESS_ROUTES = 121;
  private static final int PAD = 0;
  private static final int END = 255;

  /** The address 0.0.0.0, which stands for none. */
  static final Inet4Address NONE = address(new byte[4]);

  private static final byte BOOT_REQUEST = 1;
  private static final byte BOOT_REPLY = 2;
  private static final byte ETHERNET = 1;
  private static final int ETHERNET_ADDRESS = 6;
  private static final int BROADCAST_FLAG = 0x8000;
  private static final int COOKIE = 0x63825363;

  // Offsets of fields.
  private static final int HARDWARE = 28;
  private static final int SERVER_NAME = 44;
  private static final int FILE = 108;
  private static final int MAGIC = 236;
  private static final int OPTIONS = 240;

  /** The least length of a message, from BOOTP; some relays drop shorter ones. */
  private static final int LEAST = 300;

  private static final int LONGEST_OPTION = 255;

  DhcpMessage {
    options = Collections.unmodifiableSortedMap(new TreeMap<>(options));
  }

  /**
   * Reads an answer of a server.
   *
   * @throws IllegalArgumentException if it is none; the message continues "a message"
   */
  static DhcpMessage answer(byte[] bytes) {
    require(bytes.length >= OPTIONS, "of " + bytes.length + " bytes, which is too short");
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    require(bytes[0] == BOOT_REPLY, "that is no answer of a server");
    require(bytes[1] == ETHERNET && bytes[2] == ETHERNET_ADDRESS, "that is not for Ethernet");
    require(buffer.getInt(MAGIC) == COOKIE, "of BOOTP without the options of DHCP");
    SortedMap<Integer, byte[]> options = new TreeMap<>();
    options(bytes, OPTIONS, bytes.length, options);
    byte[] overload = options.getOrDefault(OVERLOAD, new byte[1]);
    // RFC 3396: first the field "file", then the field "sname".
    if (overload.length == 1 && (overload[0] & 1) != 0) {
      options(bytes, FILE, MAGIC, options);
    }
    if (overload.length == 1 && (overload[0] & 2) != 0) {
      options(bytes, SERVER_NAME, FILE, options);
    }
    return new DhcpMessage(
        type(options.getOrDefault(TYPE, new byte[0])),
        true,
        buffer.getInt(4),
        Short.toUnsignedInt(buffer.getShort(8)),
        (buffer.getShort(10) & BROADCAST_FLAG) != 0,
        address(Arrays.copyOfRange(bytes, 12, 16)),
        address(Arrays.copyOfRange(bytes, 16, 20)),
        Arrays.copyOfRange(bytes, HARDWARE, HARDWARE + ETHERNET_ADDRESS),
        options);
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(otherwise);
    }
  }

  private static Type type(byte[] option) {
    return Arrays.stream(Type.values())
        .filter(type -> option.length == 1 && option[0] == type.code)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("of an unknown type"));
  }

  /** Reads the options of one field; a code that occurs again continues its value (RFC 3396). */
  private static void options(byte[] bytes, int from, int to, Map<Integer, byte[]> options) {
    int at = from;
    while (at < to && Byte.toUnsignedInt(bytes[at]) != END) {
      int code = Byte.toUnsignedInt(bytes[at++]);
      if (code == PAD) {
        continue;
      }
      int length = at < to ? Byte.toUnsignedInt(bytes[at++]) : to;
      require(at + length <= to, "whose option " + code + " is longer than the message");
      byte[] value = Arrays.copyOfRange(bytes, at, at + length);
      options.merge(code, value, DhcpMessage::joined);
      at += length;
    }
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  /** Returns the message as bytes. */
  byte[] encoded() {
    ByteBuffer head = ByteBuffer.allocate(OPTIONS);
    head.put(reply ? BOOT_REPLY : BOOT_REQUEST).put(ETHERNET).put((byte) ETHERNET_ADDRESS);
    head.putInt(4, transaction);
    head.putShort(8, (short) Math.min(seconds, 0xffff));
    head.putShort(10, (short) (broadcast ? BROADCAST_FLAG : 0));
    head.put(12, client.getAddress());
    head.put(16, yours.getAddress());
    head.put(HARDWARE, hardware);
    head.putInt(MAGIC, COOKIE);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(head.array());
    option(TYPE, new byte[] {(byte) type.code}, out);
    options.forEach(
        (code, value) -> {
          if (code != TYPE) {
            option(code, value, out);
          }
        });
    out.write(END);
    return Arrays.copyOf(out.toByteArray(), Math.max(LEAST, out.size()));
  }

  private static void option(int code, byte[] value, ByteArrayOutputStream out) {
    int at = 0;
    do {
      int length = Math.min(LONGEST_OPTION, value.length - at);
      out.write(code);
      out.write(length);
      out.write(value, at, length);
      at += length;
    } while (at < value.length);
  }

  /** Returns the addresses of an option; none if it is absent or malformed. */
  List<Inet4Address> addresses(int option) {
    byte[] value = options.getOrDefault(option, new byte[0]);
    List<Inet4Address> addresses = new ArrayList<>();
    for (int at = 0; value.length % 4 == 0 && at < value.length; at += 4) {
      addresses.add(address(Arrays.copyOfRange(value, at, at + 4)));
    }
    return addresses;
  }

  /** Returns the address of an option; empty if it is absent or malformed. */
  Optional<Inet4Address> address(int option) {
    List<Inet4Address> addresses = addresses(option);
    return addresses.size() == 1 ? Optional.of(addresses.getFirst()) : Optional.empty();
  }

  /** Returns the unsigned number of an option; empty if it is absent or has another length. */
  Optional<Long> number(int option, int length) {
    byte[] value = options.getOrDefault(option, new byte[0]);
    long number = 0;
    for (byte part : value) {
      number = number << Byte.SIZE | Byte.toUnsignedLong(part);
    }
    return value.length == length ? Optional.of(number) : Optional.empty();
  }

  static byte[] text(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /** Makes an address of its four bytes. */
  static Inet4Address address(byte[] four) {
    try {
      return (Inet4Address) InetAddress.getByAddress(four);
    } catch (UnknownHostException impossible) {
      throw new IllegalStateException("four bytes are an address of IPv4", impossible);
    }
  }
}
