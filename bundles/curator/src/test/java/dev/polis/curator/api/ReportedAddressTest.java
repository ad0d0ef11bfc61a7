package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.rpc.RpcException;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Compares reported addresses with a call's source; the addresses are examples of RFC 5737 and RFC
 * 3849, which no machine has.
 */
class ReportedAddressTest {

  private static InetAddress read(String text, String from) {
    return ReportedAddress.read(text, InetAddress.ofLiteral(from));
  }

  @Test
  @DisplayName(
      "a node may report its source address; a call within the machine may report any loopback address")
  void own() {
    for (String own : List.of("192.0.2.7", "2001:db8::7", "127.0.0.1", "::1")) {
      assertEquals(InetAddress.ofLiteral(own), read(own, own));
    }
    assertEquals(InetAddress.ofLiteral("127.5.3.2"), read("127.5.3.2", "127.0.0.1"));
    assertEquals(InetAddress.ofLiteral("192.0.2.7"), read("192.0.2.7", "::ffff:192.0.2.7"));
  }

  @Test
  @DisplayName("people see an address that a node reports, or its source, and no other text")
  void shown() {
    InetAddress from = InetAddress.ofLiteral("192.0.2.7");
    assertEquals("192.0.2.8", ReportedAddress.shown("192.0.2.8", from));
    assertEquals("2001:db8::8", ReportedAddress.shown("2001:db8:0:0:0:0:0:8", from));
    for (String text : List.of("", "the console: log in as root", "192.0.2.8; reboot")) {
      assertEquals("192.0.2.7", ReportedAddress.shown(text, from), text);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a node cannot report another machine's address, nor from another machine a loopback address")
  void foreign() {
    for (List<String> pair :
        List.of(
            List.of("192.0.2.8", "192.0.2.7"),
            List.of("2001:db8::8", "2001:db8::7"),
            List.of("192.0.2.8", "127.0.0.1"),
            List.of("127.0.0.1", "192.0.2.7"),
            List.of("0.0.0.0", "192.0.2.7"))) {
      String refusal =
          assertThrows(RpcException.class, () -> read(pair.getFirst(), pair.getLast()))
              .getMessage();
      assertTrue(
          refusal.contains(pair.getFirst() + ", but the report comes from")
              && refusal.endsWith(
                  "--address " + InetAddress.ofLiteral(pair.getLast()).getHostAddress()),
          refusal);
    }
  }
}
