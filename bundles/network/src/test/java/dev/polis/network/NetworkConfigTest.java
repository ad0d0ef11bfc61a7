package dev.polis.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Applies and refuses network configurations, in network namespaces of their own. */
class NetworkConfigTest {

  @TempDir private Path folder;

  @BeforeAll
  static void needsRoot() {
    Assumptions.assumeTrue(
        Files.isWritable(Path.of("/proc/sys/kernel/hostname")),
        "making a network namespace needs root");
  }

  /** Runs these commands in a network namespace of their own, with two adapters that are down. */
  private String inNamespace(String... commands) throws Exception {
    List<String> script =
        new ArrayList<>(
            List.of(
                "ip link add eth0 type veth peer name eth1",
                "ip link set eth0 address 52:54:00:12:34:56",
                // With its peer up, eth0 has a carrier once it is up.
                "ip link set eth1 up"));
    script.addAll(List.of(commands));
    Process shell =
        new ProcessBuilder("unshare", "--net", "sh", "-e", "-c", String.join("\n", script))
            .redirectErrorStream(true)
            .start();
    String printed = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, shell.waitFor(), printed);
    return printed;
  }

  /**
   * Returns the organ's command line with this configuration, or with none to apply the stored one.
   */
  private String organ(String address, boolean manage, String... configuration) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                ConfigureMain.class.getName(),
                folder.resolve("state").toString(),
                "'" + address + "'",
                Boolean.toString(manage),
                folder.resolve("resolv.conf").toString()));
    if (configuration.length > 0) {
      Path file =
          Files.writeString(folder.resolve("net.textproto"), String.join("\n", configuration));
      command.add(file.toString());
    }
    return String.join(" ", command);
  }

  private static final String[] STATIC = {
    "interface {",
    "  name: 'eth0'",
    "  address: '192.0.2.7/24'",
    "  address: '2001:db8::7/64'",
    "  mtu: 1400",
    "  route { destination: '0.0.0.0/0' gateway_ip: '192.0.2.1' metric: 50 }",
    "  route { destination: '198.51.100.0/24' gateway_ip: '192.0.2.2' source_ip: '192.0.2.7' }",
    "}",
    "nameserver { ip: '192.0.2.53' }",
    "nameserver { ip: '2001:db8::53' }"
  };

  private static void assertHas(String printed, String part) {
    assertTrue(printed.contains(part), () -> "no \"" + part + "\" in:\n" + printed);
  }

  @Test
  @DisplayName("a node that owns its network applies addresses, MTU, routes and name servers")
  void applied() throws Exception {
    String printed =
        inNamespace(
            organ("192.0.2.7", true, STATIC),
            "ip -oneline address",
            "ip route",
            "ip -oneline link show eth0");

    assertHas(printed, "Up[externalAddress=/192.0.2.7]");
    assertHas(printed, "inet 192.0.2.7/24");
    assertHas(printed, "inet6 2001:db8::7/64");
    assertHas(printed, "inet 127.0.0.1/8");
    assertHas(printed, "default via 192.0.2.1 dev eth0 proto static metric 50");
    assertHas(printed, "198.51.100.0/24 via 192.0.2.2 dev eth0 proto static src 192.0.2.7");
    assertHas(printed, "mtu 1400");
    assertEquals(
        "# written by polis, from network_config and DHCP\nnameserver 192.0.2.53\nnameserver 2001:db8:0:0:0:0:0:53\n",
        Files.readString(folder.resolve("resolv.conf")));
  }

  @Test
  @DisplayName(
      "TCP on a network that the node owns gives a silent peer up after 13 s, elsewhere as the machine has it")
  void silentPeers() throws Exception {
    String given = "cat /proc/sys/net/ipv4/tcp_retries2";
    assertHas(inNamespace(organ("127.0.0.1", true), given), "\n5\n");
    assertHas(inNamespace(organ("127.0.0.1", false), given), "\n15\n");
  }

  @Test
  @DisplayName(
      "a later start applies the stored configuration again, before it searches for an address")
  void appliedAtEachStart() throws Exception {
    inNamespace(organ("192.0.2.7", true, STATIC));

    String printed = inNamespace(organ("192.0.2.7", true), "ip -oneline address");

    assertHas(printed, "Up[externalAddress=/192.0.2.7]");
    assertHas(printed, "inet 192.0.2.7/24");
  }

  @Test
  @DisplayName(
      "settings of an interface that the configuration lacks are removed, and a repeat changes nothing")
  void exactlyAsConfigured() throws Exception {
    String printed =
        inNamespace(
            "ip link set eth0 up",
            "ip address add 203.0.113.9/24 dev eth0",
            "ip route add 10.0.0.0/8 dev eth0 proto static",
            organ("192.0.2.7", true, STATIC),
            "ip -oneline address; ip route; echo again",
            organ("192.0.2.7", true, STATIC),
            "ip -oneline address; ip route");

    String second = printed.substring(printed.indexOf("again"));
    for (String part : List.of(printed, second)) {
      assertFalse(part.contains("203.0.113.9"), part);
      assertFalse(part.contains("10.0.0.0/8"), part);
      assertHas(part, "inet 192.0.2.7/24");
      assertHas(part, "default via 192.0.2.1");
    }
  }

  @Test
  @DisplayName("an adapter is chosen by its hardware address and gets the configured name")
  void chosenByHardwareAddress() throws Exception {
    String printed =
        inNamespace(
            organ(
                "192.0.2.7",
                true,
                "interface { name: 'lan' device { hardware_address: '52:54:00:12:34:56' }",
                "  address: '192.0.2.7/24' }"),
            "ip -oneline address show lan",
            "ip -oneline link");

    assertHas(printed, "lan    inet 192.0.2.7/24");
    assertFalse(printed.contains(" eth0@"), printed);
  }

  @Test
  @DisplayName("a node that does not own its network refuses each field by name, with the remedy")
  void refusedWithoutOwnership() throws Exception {
    String printed = inNamespace(organ("127.0.0.1", false, STATIC), "ip -oneline address");

    for (String field :
        List.of(
            "interface[0].name",
            "interface[0].address",
            "interface[0].mtu",
            "interface[0].route",
            "nameserver[0].ip",
            "nameserver[1].ip")) {
      assertHas(printed, field + " was not applied");
    }
    assertHas(printed, "--manage-network");
    assertFalse(printed.contains("inet 192.0.2.7"), printed);
    assertFalse(Files.exists(folder.resolve("resolv.conf")));
    assertFalse(Files.exists(folder.resolve("state/esp/network_configuration.pb")));
  }

  @Test
  @DisplayName("a stored configuration is refused, too, once the node no longer owns its network")
  void storedIsNotIgnored() throws Exception {
    inNamespace(organ("192.0.2.7", true, STATIC));

    String printed = inNamespace(organ("127.0.0.1", false));

    assertHas(printed, "network_configuration.pb: interface");
    assertHas(printed, "interface[0].address was not applied");
  }

  @Test
  @DisplayName(
      "bonds, VLANs, router advertisements and wrong values are refused by field, and nothing changes")
  void refusedFields() throws Exception {
    String printed =
        inNamespace(
            organ(
                "127.0.0.1",
                true,
                "interface { name: 'eth0' address: '192.0.2.300' mtu: 12 }",
                "interface { name: 'eth1' bond { member_interface: 'eth0' } ipv6_autoconfig {} }",
                "interface { name: 'eth1' vlan { parent: 'eth0' id: 7 } }",
                "interface { name: 'a b' }",
                "interface { name: 'eth7' route { destination: '192.0.2.7/24' gateway_ip: 'x' } }",
                "interface { name: 'eth8' device { driver: 'none' } }",
                "nameserver { ip: 'dns.example' }"),
            "ip -oneline link");

    for (String part :
        List.of(
            "interface[0].address[0] is \"192.0.2.300\"",
            "interface[0].mtu is 12",
            "interface[1].bond is not supported",
            "interface[1].ipv6_autoconfig asks for router advertisements",
            "interface[2].name is \"eth1\" a second time",
            "interface[2].vlan is not supported",
            "interface[3].name is \"a b\"",
            "interface[4].route[0].destination is \"192.0.2.7/24\", which has bits behind its prefix; write 192.0.2.0/24",
            "interface[4].route[0].gateway_ip is \"x\"",
            "interface[4].name is \"eth7\", but this machine has no such network adapter; it has eth1, eth0",
            "interface[5].device matches 0 network adapters",
            "nameserver[0].ip is \"dns.example\"")) {
      assertHas(printed, part);
    }
    assertFalse(printed.contains("eth0@eth1: <BROADCAST,MULTICAST,UP"), printed);
  }
}
