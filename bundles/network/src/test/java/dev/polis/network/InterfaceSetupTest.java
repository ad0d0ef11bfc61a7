package dev.polis.network;

import static dev.polis.network.DhcpAnswers.answer;
import static dev.polis.network.DhcpAnswers.bytes;
import static dev.polis.network.DhcpAnswers.usable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.LogTree;
import dev.polis.network.DhcpMessage.Type;
import dev.polis.process.Commands;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Observes the commands with which the leases of DHCP come to an interface and go. */
class InterfaceSetupTest {

  private static final String ADDRESSES = "ip -4 -oneline address show dev eth0 scope global";
  private static final String ROUTES = "ip -4 -oneline route show dev eth0 proto dhcp";
  private static final String LINKS = "ip -oneline -details link show";

  private final List<String> changes = new ArrayList<>();
  private final Map<String, String> state = new HashMap<>();

  private final InterfaceSetup setup =
      new InterfaceSetup(
          new Commands() {
            @Override
            public Result run(Duration within, List<String> command) {
              String line = String.join(" ", command);
              if (!line.contains(" show")) {
                changes.add(line);
              }
              return new Result(command, 0, state.getOrDefault(line, ""));
            }
          },
          Path.of("/nowhere"),
          LogTree.create().log("root.network"));

  private void lease(String address, Map<Integer, byte[]> options) throws Exception {
    DhcpLease lease = DhcpLease.of(answer(Type.ACK, 1, address, options), Instant.EPOCH);
    setup.lease("eth0", 2, lease, Duration.ofSeconds(9), false);
  }

  @Test
  @DisplayName(
      "DHC-10 a lease removes former leased addresses, keeps permanent ones, and sets address and lifetime")
  void addresses() throws Exception {
    state.put(
        ADDRESSES,
        """
        2: eth0    inet 198.51.100.9/24 scope global eth0\\       valid_lft forever preferred_lft forever
        2: eth0    inet 192.0.2.6/24 scope global dynamic eth0\\       valid_lft 7sec preferred_lft 7sec""");
    lease("192.0.2.7", usable());
    assertEquals(
        List.of(
            "ip address delete 192.0.2.6/24 dev eth0",
            "ip address replace 192.0.2.7/24 dev eth0 valid_lft 10 preferred_lft 10"),
        changes);
  }

  @Test
  @DisplayName(
      "DHC-10 a renewal updates the lifetime; an address that is configured stays permanent")
  void lifetimes() throws Exception {
    state.put(
        ADDRESSES, "2: eth0    inet 192.0.2.7/24 scope global dynamic eth0\\  valid_lft 3sec");
    lease("192.0.2.7", usable());
    assertEquals(
        List.of("ip address replace 192.0.2.7/24 dev eth0 valid_lft 10 preferred_lft 10"), changes);
    changes.clear();
    assertTrue(setup.hasLeased("eth0", IpPrefix.parse("192.0.2.7/24")));
    assertFalse(setup.hasLeased("eth0", IpPrefix.parse("192.0.2.8/24")));
    state.put(ADDRESSES, "2: eth0    inet 192.0.2.7/24 scope global eth0\\  valid_lft forever");
    assertFalse(setup.hasLeased("eth0", IpPrefix.parse("192.0.2.7/24")));
    lease("192.0.2.7", usable());
    assertEquals(List.of(), changes);
  }

  @Test
  @DisplayName("DHC-10 the end of a lease removes its address and its routes, and no others")
  void released() throws Exception {
    state.put(
        ADDRESSES,
        """
        2: eth0    inet 198.51.100.9/24 scope global eth0\\       valid_lft forever
        2: eth0    inet 192.0.2.7/24 scope global dynamic eth0\\       valid_lft 7sec""");
    state.put(ROUTES, "default via 192.0.2.1 src 192.0.2.7 metric 1026");
    setup.release("eth0");
    assertEquals(
        List.of(
            "ip -4 route delete default dev eth0 proto dhcp",
            "ip address delete 192.0.2.7/24 dev eth0"),
        changes);
  }

  @Test
  @DisplayName(
      "DHC-10 routes: the default route is set; own routes that the lease lacks go; without a router there is none")
  void routes() throws Exception {
    state.put(
        ROUTES, "default via 192.0.2.9 src 192.0.2.7\n10.0.0.0/8 via 192.0.2.1 src 192.0.2.7");
    lease("192.0.2.7", usable(DhcpMessage.ROUTER, bytes("192.0.2.1")));
    assertEquals(
        List.of(
            "ip route replace 0.0.0.0/0 via 192.0.2.1 dev eth0 src 192.0.2.7 metric 1026 proto dhcp",
            "ip -4 route delete 10.0.0.0/8 dev eth0 proto dhcp"),
        changes.subList(1, changes.size()));
    changes.clear();
    lease("192.0.2.7", usable());
    assertTrue(changes.contains("ip -4 route delete default dev eth0 proto dhcp"), "" + changes);
    assertFalse(changes.toString().contains("route replace"), changes.toString());
  }

  @Test
  @DisplayName("DHC-10 classless routes with a gateway outside of the network: first the way to it")
  void foreignGateway() throws Exception {
    byte[] option = {32, (byte) 203, 0, 113, 1, 0, 0, 0, 0, 0, (byte) 203, 0, 113, 1};
    Map<Integer, byte[]> options = usable(DhcpMessage.CLASSLESS_ROUTES, option);
    options.put(DhcpMessage.SUBNET_MASK, bytes("255.255.255.255"));
    lease("192.0.2.7", options);
    assertEquals(
        List.of(
            "ip route replace 203.0.113.1/32 dev eth0 src 192.0.2.7 metric 1026 proto dhcp",
            "ip route replace 0.0.0.0/0 via 203.0.113.1 dev eth0 src 192.0.2.7 metric 1026 proto dhcp"),
        changes.subList(1, changes.size()));
  }

  @Test
  @DisplayName(
      "D-28 cards are the Ethernet links without a virtual kind; in a namespace the links of its maker")
  void cards() throws Exception {
    String loopback = "1: lo: <LOOPBACK,UP> mtu 65536\\    link/loopback 00:00:00:00:00:00\n";
    String virtual =
        """
        3: eth7@if8: <BROADCAST> mtu 1500\\    link/ether 52:54:00:00:00:07 promiscuity 0 \\    veth addrgenmode eui64
        4: br0: <BROADCAST> mtu 1500\\    link/ether 52:54:00:00:00:08 promiscuity 0 \\    bridge forward_delay 1500
        5: polis-a@if2: <BROADCAST> mtu 1500\\    link/ether 52:54:00:00:00:09 promiscuity 0 \\    veth addrgenmode eui64
        """;
    state.put(
        LINKS,
        loopback
            + virtual
            + "2: eth0: <BROADCAST> mtu 1500\\    link/ether 52:54:00:12:34:56 promiscuity 0 addrgenmode eui64 \\    altname enp1s0");
    assertEquals(List.of("eth0"), setup.cards());
    state.put(LINKS, loopback + virtual);
    assertEquals(List.of("eth7"), setup.cards());
    state.put(LINKS, loopback);
    assertEquals(List.of(), setup.cards());
  }
}
