package dev.polis.network;

import dev.polis.network.StaticNetwork.Route;
import java.net.Inet4Address;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Is an address that a DHCP server has given for a time, with the settings that belong to it. All
 * parts are checked: whatever a server sends, they are applicable and do no harm beyond their
 * interface.
 *
 * @param address the address, with the length of its network's prefix
 * @param server the address of the server
 * @param obtained the time from which the lease counts
 * @param time the length of the lease
 * @param renewal after this time the client asks the same server again
 * @param rebinding after this time it asks all servers
 * @param nameServers the name servers, the preferred one first
 * @param timeServers the time servers, the preferred one first
 * @param routes the routes, each at most once
 * @param mtu the largest packet on the link; 0 if the server names none, or one out of range
 * @param message the message with which the server gave it
 */
record DhcpLease(
    IpPrefix address,
    Inet4Address server,
    Instant obtained,
    Duration time,
    Duration renewal,
    Duration rebinding,
    List<Inet4Address> nameServers,
    List<Inet4Address> timeServers,
    List<Route> routes,
    int mtu,
    DhcpMessage message) {

  // The reference's figures; RFC 2131 has 0.5 and 0.875.
  private static final double RENEWAL = 0.5;
  private static final double REBINDING = 0.85;

  /**
   * A lease without end counts as one of a year, so that the kernel shows its address as leased.
   */
  private static final long LONGEST = Duration.ofDays(365).toSeconds();

  /** No organization has a larger network than 10/8; a shorter prefix covers foreign networks. */
  private static final int SHORTEST_PREFIX = 8;

  /** The smallest MTU of IPv6, which uses the link too, and the usual size of large frames. */
  private static final int LEAST_MTU = 1280;

  private static final int LARGEST_MTU = 9000;

  /** Four are enough to find a false one among them. */
  private static final int MOST_TIME_SERVERS = 4;

  DhcpLease {
    nameServers = List.copyOf(nameServers);
    timeServers = List.copyOf(timeServers);
    routes = List.copyOf(routes);
  }

  /**
   * Checks an offer or an acknowledgement.
   *
   * @param obtained the time from which the lease counts
   * @throws IllegalArgumentException if the client cannot use it; the message continues "a message"
   */
  static DhcpLease of(DhcpMessage message, Instant obtained) {
    Inet4Address server =
        message
            .address(DhcpMessage.SERVER)
            .filter(DhcpLease::isUnicast)
            .orElseThrow(() -> new IllegalArgumentException("without the address of its server"));
    long seconds =
        Math.min(LONGEST, message.number(DhcpMessage.LEASE_TIME, Integer.BYTES).orElse(0L));
    if (seconds < 1) {
      throw new IllegalArgumentException("without a lease time of at least 1 s");
    }
    IpPrefix address = new IpPrefix(checked(message.yours()), prefix(message));
    if (address.length() < 31 && isEdge(address)) {
      throw new IllegalArgumentException(
          "with the address " + address + ", which is that of a network or of all its machines");
    }
    Duration time = Duration.ofSeconds(seconds);
    Duration rebinding =
        part(message, DhcpMessage.REBINDING_TIME, time).orElse(share(time, REBINDING));
    Duration renewal =
        part(message, DhcpMessage.RENEWAL_TIME, rebinding)
            .orElse(
                share(time, Math.min(RENEWAL, (double) rebinding.toMillis() / time.toMillis())));
    return new DhcpLease(
        address,
        server,
        obtained,
        time,
        renewal,
        rebinding,
        servers(message, DhcpMessage.NAME_SERVERS).toList(),
        servers(message, DhcpMessage.TIME_SERVERS).limit(MOST_TIME_SERVERS).toList(),
        DhcpRoutes.of(address, message),
        message
            .number(DhcpMessage.MTU, Short.BYTES)
            .filter(mtu -> mtu >= LEAST_MTU && mtu <= LARGEST_MTU)
            .orElse(0L)
            .intValue(),
        message);
  }

  private static Stream<Inet4Address> servers(DhcpMessage message, int option) {
    return message.addresses(option).stream().filter(DhcpLease::isUnicast).distinct();
  }

  private static Inet4Address checked(Inet4Address address) {
    if (!isUnicast(address)) {
      throw new IllegalArgumentException(
          "with the address " + address.getHostAddress() + ", which no machine can have");
    }
    return address;
  }

  /** Returns whether a machine of the network can have the address. */
  static boolean isUnicast(Inet4Address address) {
    int first = Byte.toUnsignedInt(address.getAddress()[0]);
    return first > 0 // "this network"
        && first < 224 // multicast, reserved, broadcast
        && !address.isLoopbackAddress()
        && !address.isLinkLocalAddress();
  }

  private static boolean isEdge(IpPrefix address) {
    int host = -1 >>> address.length();
    int bits = ByteBuffer.wrap(address.address().getAddress()).getInt() & host;
    return bits == 0 || bits == host;
  }

  /** Returns the length of the subnet mask; without a mask that of the address's class. */
  private static int prefix(DhcpMessage message) {
    if (!message.options().containsKey(DhcpMessage.SUBNET_MASK)) {
      int first = Byte.toUnsignedInt(message.yours().getAddress()[0]);
      return first < 128 ? 8 : first < 192 ? 16 : 24;
    }
    int mask = message.number(DhcpMessage.SUBNET_MASK, Integer.BYTES).orElse(0L).intValue();
    int length = Integer.bitCount(mask);
    if (length < SHORTEST_PREFIX || Integer.numberOfLeadingZeros(~mask) != length) {
      throw new IllegalArgumentException(
          "whose subnet mask is none of 8 to 32 bits: 0x%08x".formatted(mask));
    }
    return length;
  }

  /** Returns a time of the message if it is shorter than another one. */
  private static Optional<Duration> part(DhcpMessage message, int option, Duration limit) {
    return message
        .number(option, Integer.BYTES)
        .map(Duration::ofSeconds)
        .filter(part -> part.isPositive() && part.compareTo(limit) < 0);
  }

  private static Duration share(Duration time, double share) {
    return Duration.ofMillis((long) (time.toMillis() * share));
  }

  Inet4Address own() {
    return (Inet4Address) address.address();
  }

  Instant renewAt() {
    return obtained.plus(renewal);
  }

  Instant rebindAt() {
    return obtained.plus(rebinding);
  }

  Instant expiry() {
    return obtained.plus(time);
  }

  /** Returns the addresses of the time servers. */
  List<String> offeredTime() {
    return timeServers.stream().map(Inet4Address::getHostAddress).toList();
  }

  /** Returns the name servers of a lease; none without a lease. */
  static List<Inet4Address> nameServers(Optional<DhcpLease> lease) {
    return lease.map(DhcpLease::nameServers).orElse(List.of());
  }

  @Override
  public String toString() {
    return "%s from the DHCP server %s for %d s"
        .formatted(address, server.getHostAddress(), time.toSeconds());
  }
}
