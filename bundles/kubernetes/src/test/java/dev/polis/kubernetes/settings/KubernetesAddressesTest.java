package dev.polis.kubernetes.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.config.SettingException;
import java.net.InetAddress;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Derives addresses, and refuses ranges that cannot be used. */
class KubernetesAddressesTest {

  private static final AddressRange LINKS = AddressRange.of("198.18.0.0/15");

  @Test
  @DisplayName("nodes at neighbouring loopback addresses get pairs that do not overlap")
  void pairs() {
    KubernetesAddresses first = KubernetesAddresses.of(InetAddress.ofLiteral("127.0.0.1"), LINKS);
    KubernetesAddresses last =
        KubernetesAddresses.of(InetAddress.ofLiteral("127.0.255.255"), LINKS);
    assertEquals("198.18.0.2", first.host().getHostAddress());
    assertEquals("198.18.0.3", first.worker().getHostAddress());
    assertEquals("198.19.255.254", last.host().getHostAddress());
    assertEquals("198.19.255.255", last.worker().getHostAddress());
    assertTrue(first.derived());
  }

  @Test
  @DisplayName("a node at an address of the network uses that address for everything")
  void own() {
    InetAddress node = InetAddress.ofLiteral("192.0.2.7");
    KubernetesAddresses addresses = KubernetesAddresses.of(node, LINKS);
    assertEquals(new KubernetesAddresses(node, node), addresses);
    assertFalse(addresses.derived());
  }

  @Test
  @DisplayName("a range with bits behind its prefix is refused with the correct range")
  void bitsBehindPrefix() {
    assertEquals(
        "has bits behind its prefix; did you mean 10.96.0.0/16?",
        assertThrows(IllegalArgumentException.class, () -> AddressRange.of("10.96.0.1/16"))
            .getMessage());
  }

  @Test
  @DisplayName("an invalid range is refused: a name, IPv6, no prefix, a prefix that is no number")
  void noRange() {
    for (String text : new String[] {"pods", "fd00::/64", "10.0.0.0", "10.0.0.0/x", "0.0.0.0/0"}) {
      assertThrows(IllegalArgumentException.class, () -> AddressRange.of(text), text);
    }
  }

  @Test
  @DisplayName("overlapping ranges of Pods and Services are refused with both keys")
  void overlap() {
    AddressRange range = AddressRange.of("10.0.0.0/8");
    String refusal =
        assertThrows(
                SettingException.class,
                () ->
                    new KubernetesSettings(
                        6444,
                        "",
                        6443,
                        6445,
                        range,
                        AddressRange.of("10.96.0.0/16"),
                        "cluster.local",
                        LINKS,
                        "auto",
                        AuditSettings.STANDARD))
            .getMessage();
    assertTrue(refusal.contains("pod.range"), refusal);
    assertTrue(refusal.contains("service.range=10.96.0.0/16"), refusal);
  }
}
