package dev.polis.network;

import static dev.polis.network.DhcpAnswers.answer;
import static dev.polis.network.DhcpAnswers.bytes;
import static dev.polis.network.DhcpAnswers.ip;
import static dev.polis.network.DhcpAnswers.seconds;
import static dev.polis.network.DhcpAnswers.usable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.network.DhcpMessage.Type;
import dev.polis.network.StaticNetwork.Route;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class DhcpLeaseTest {

  private static final String ADDRESS = "192.0.2.7";

  private static DhcpLease lease(String address, Map<Integer, byte[]> options) {
    return DhcpLease.of(answer(Type.ACK, 1, address, options), Instant.EPOCH);
  }

  private static List<String> routes(Map<Integer, byte[]> options) {
    return lease(ADDRESS, options).routes().stream().map(DhcpLeaseTest::text).toList();
  }

  private static String text(Route route) {
    return route.destination() + (route.gateway().isEmpty() ? "" : " via " + route.gateway());
  }

  /** Makes option 121 of routes such as "0.0.0.0/0 192.0.2.1". */
  private static Map<Integer, byte[]> classless(String... routes) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (String route : routes) {
      String[] words = route.split("[/ ]");
      int length = Integer.parseInt(words[1]);
      out.write(length);
      out.write(ip(words[0]).getAddress(), 0, (length + 7) / 8);
      out.writeBytes(ip(words[2]).getAddress());
    }
    return usable(DhcpMessage.CLASSLESS_ROUTES, out.toByteArray());
  }

  @Test
  @DisplayName(
      "DHC-08 name servers: none without a lease; 0.0.0.0 is dropped, a second one of the same address too, the order stays")
  void nameServers() {
    assertEquals(List.of(), DhcpLease.nameServers(Optional.empty()));
    Map<Integer, byte[]> options =
        usable(
            DhcpMessage.NAME_SERVERS,
            bytes("198.51.100.2", "0.0.0.0", "192.0.2.53", "198.51.100.2", "192.0.2.1"));
    assertEquals(
        List.of(ip("198.51.100.2"), ip("192.0.2.53"), ip("192.0.2.1")),
        DhcpLease.nameServers(Optional.of(lease(ADDRESS, options))));
  }

  @Test
  @DisplayName("time servers: addresses of machines, each once, the first four in their order")
  void timeServers() {
    Map<Integer, byte[]> options =
        usable(
            DhcpMessage.TIME_SERVERS,
            bytes(
                "198.51.100.2",
                "224.0.1.1",
                "192.0.2.53",
                "198.51.100.2",
                "192.0.2.1",
                "192.0.2.2",
                "192.0.2.3"));
    assertEquals(
        List.of(ip("198.51.100.2"), ip("192.0.2.53"), ip("192.0.2.1"), ip("192.0.2.2")),
        lease(ADDRESS, options).timeServers());
  }

  @Test
  @DisplayName(
      "DHC-09 the router gives the default route if it is on the network of the address; classless routes replace it")
  void router() {
    assertEquals(List.of(), routes(usable()));
    assertEquals(
        List.of("0.0.0.0/0 via 192.0.2.1"),
        routes(usable(DhcpMessage.ROUTER, bytes("192.0.2.1", "192.0.2.2"))));
    for (String wrong : List.of("203.0.113.1", "127.0.0.1", "0.0.0.0", "224.0.0.1", ADDRESS)) {
      assertEquals(List.of(), routes(usable(DhcpMessage.ROUTER, bytes(wrong))), wrong);
    }
    Map<Integer, byte[]> both = classless("198.51.100.0/24 192.0.2.9");
    both.put(DhcpMessage.ROUTER, bytes("192.0.2.1"));
    assertEquals(List.of("198.51.100.0/24 via 192.0.2.9"), routes(both));
  }

  @Test
  @DisplayName(
      "DHC-09 classless routes: a route to a /32 on the link makes it a gateway; loopback and unreachable gateways, second routes and routes within 127/8 are dropped")
  void classlessRoutes() {
    Map<Integer, byte[]> single = classless("203.0.113.1/32 0.0.0.0", "0.0.0.0/0 203.0.113.1");
    single.put(DhcpMessage.SUBNET_MASK, bytes("255.255.255.255"));
    assertEquals(List.of("203.0.113.1/32", "0.0.0.0/0 via 203.0.113.1"), routes(single));
    assertEquals(
        List.of("0.0.0.0/0 via 192.0.2.1", "126.0.0.0/7 via 192.0.2.1"),
        routes(
            classless(
                "10.0.0.0/8 127.0.0.1",
                "10.0.0.0/8 203.0.113.1",
                "0.0.0.0/0 192.0.2.1",
                "0.0.0.0/0 192.0.2.2",
                "127.0.0.0/8 192.0.2.1",
                "127.0.0.1/32 0.0.0.0",
                "126.0.0.0/7 192.0.2.1")));
  }

  @Test
  @DisplayName(
      "the times of the server count if they are in order, and those of RFC 2131 otherwise")
  void times() {
    Map<Integer, byte[]> options = usable(DhcpMessage.LEASE_TIME, seconds(1000));
    options.put(DhcpMessage.RENEWAL_TIME, seconds(100));
    options.put(DhcpMessage.REBINDING_TIME, seconds(200));
    assertEquals(Duration.ofSeconds(100), lease(ADDRESS, options).renewal());
    assertEquals(Duration.ofSeconds(200), lease(ADDRESS, options).rebinding());
    options.put(DhcpMessage.RENEWAL_TIME, seconds(300));
    assertEquals(Duration.ofSeconds(200), lease(ADDRESS, options).renewal());
    options.put(DhcpMessage.REBINDING_TIME, seconds(-1));
    assertEquals(Duration.ofSeconds(300), lease(ADDRESS, options).renewal());
    assertEquals(Duration.ofSeconds(850), lease(ADDRESS, options).rebinding());
    assertEquals(
        Duration.ofDays(365),
        lease(ADDRESS, usable(DhcpMessage.LEASE_TIME, seconds(-1))).time(),
        "a lease without end");
  }

  @Test
  @DisplayName("a message is read as it was written, with options in the other fields and in parts")
  void codec() {
    byte[] longOption = new byte[300];
    Arrays.fill(longOption, (byte) 7);
    DhcpMessage written = answer(Type.ACK, 42, ADDRESS, usable(DhcpMessage.HOST_NAME, longOption));
    DhcpMessage read = DhcpMessage.answer(written.encoded());
    assertEquals(written.options().keySet(), withoutType(read));
    assertEquals(300, read.options().get(DhcpMessage.HOST_NAME).length);
    assertEquals(ip(ADDRESS), read.yours());

    byte[] overloaded = answer(Type.ACK, 42, ADDRESS, usable(52, new byte[] {3})).encoded();
    ByteBuffer.wrap(overloaded).put(108, new byte[] {6, 4, 1, 1, 1, 1, -1}); // the field file
    ByteBuffer.wrap(overloaded).put(44, new byte[] {6, 4, 8, 8, 8, 8, -1}); // the field sname
    assertEquals(
        List.of(ip("1.1.1.1"), ip("8.8.8.8")),
        DhcpMessage.answer(overloaded).addresses(DhcpMessage.NAME_SERVERS));
  }

  private static Set<Integer> withoutType(DhcpMessage message) {
    Set<Integer> codes = new TreeSet<>(message.options().keySet());
    codes.remove(53);
    return codes;
  }

  @Test
  @DisplayName("a packet is read as it was written")
  void packets() {
    byte[] message = {1, 2, 3, 4};
    byte[] packet = DhcpTransport.wrapped(message);
    ByteBuffer ports = ByteBuffer.wrap(packet);
    ports.putShort(20, (short) 67).putShort(22, (short) 68); // as a server answers
    assertEquals(
        Arrays.toString(message), Arrays.toString(DhcpTransport.unwrapped(packet).orElseThrow()));
    int sum = 0;
    for (int at = 0; at < 20; at += 2) {
      sum += Short.toUnsignedInt(ports.getShort(at));
    }
    assertEquals(0xffff, (sum & 0xffff) + (sum >>> 16), "the checksum of the IP header");
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "an address of loopback, of a group, of a network or of all machines, and a subnet mask that is 0, short or torn are refused")
  void hostileAddresses() {
    for (String address :
        List.of(
            "127.0.0.1",
            "127.255.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.1.1",
            "192.0.2.0",
            "192.0.2.255")) {
      assertThrows(IllegalArgumentException.class, () -> lease(address, usable()), address);
    }
    for (String mask : List.of("0.0.0.0", "128.0.0.0", "254.0.0.0", "255.0.255.0", "0.0.0.255")) {
      Map<Integer, byte[]> options = usable(DhcpMessage.SUBNET_MASK, bytes(mask));
      assertThrows(IllegalArgumentException.class, () -> lease(ADDRESS, options), mask);
    }
    for (String server : List.of("0.0.0.0", "127.0.0.1", "255.255.255.255", "224.0.0.1")) {
      Map<Integer, byte[]> options = usable(DhcpMessage.SERVER, bytes(server));
      assertThrows(IllegalArgumentException.class, () -> lease(ADDRESS, options), server);
    }
    Map<Integer, byte[]> options = usable(DhcpMessage.MTU, new byte[] {0, 68});
    options.put(
        DhcpMessage.NAME_SERVERS, bytes("127.0.0.1", "255.255.255.255", "224.0.0.251", "0.0.0.0"));
    assertEquals(0, lease(ADDRESS, options).mtu(), "an MTU that ends IPv6 on the link");
    assertEquals(List.of(), lease(ADDRESS, options).nameServers());
  }

  @Test
  @Tag("attack")
  @DisplayName("routes without number, torn or to the machine itself give at most 32 safe ones")
  void hostileRoutes() {
    String[] many = new String[250];
    Arrays.setAll(many, i -> "10.0." + i + ".0/24 192.0.2.1");
    assertEquals(32, routes(classless(many)).size());
    byte[] torn = {24, 10, 0, 0, (byte) 192, 0, 2, 1, 33, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    assertEquals(
        List.of("10.0.0.0/24 via 192.0.2.1"), routes(usable(DhcpMessage.CLASSLESS_ROUTES, torn)));
    assertEquals(
        List.of(),
        routes(classless("224.0.0.0/4 192.0.2.1", "127.0.0.0/8 0.0.0.0", "10.0.0.0/8 192.0.2.7")));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "bytes by chance, messages cut at each byte and messages with any changed byte are refused or give a safe lease")
  void garbage() {
    Random random = new Random(2131); // any seed; failures repeat
    byte[] whole =
        answer(Type.ACK, 1, ADDRESS, classless("0.0.0.0/0 192.0.2.1", "10.0.0.0/8 192.0.2.2"))
            .encoded();
    for (int length = 0; length <= whole.length; length++) {
      safe(Arrays.copyOf(whole, length));
    }
    for (int round = 0; round < 20_000; round++) {
      byte[] changed = whole.clone();
      for (int change = 0; change <= round % 4; change++) {
        changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      }
      safe(changed);
      byte[] any = new byte[random.nextInt(2048)];
      random.nextBytes(any);
      safe(any);
      DhcpTransport.unwrapped(any).ifPresent(DhcpLeaseTest::safe);
    }
  }

  private static void safe(byte[] bytes) {
    try {
      DhcpLease lease = DhcpLease.of(DhcpMessage.answer(bytes), Instant.EPOCH);
      assertTrue(DhcpLease.isUnicast(lease.own()), lease.toString());
      assertTrue(lease.address().length() >= 8, lease.toString());
      assertTrue(lease.renewal().compareTo(lease.rebinding()) <= 0, lease.toString());
      assertTrue(lease.rebinding().compareTo(lease.time()) < 0, lease.toString());
      assertTrue(lease.routes().size() <= 32, lease.toString());
    } catch (IllegalArgumentException refused) {
      assertTrue(!refused.getMessage().isBlank());
    }
  }
}
