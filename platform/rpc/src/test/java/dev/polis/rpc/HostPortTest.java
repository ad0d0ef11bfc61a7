package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class HostPortTest {
  @Test
  @DisplayName("an address and its port are host:port, an IPv6 address in brackets")
  void text() {
    assertEquals(
        "192.0.2.1:7835",
        HostPort.of(new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 7835)));
    assertEquals(
        "[2001:db8::1]:7835",
        HostPort.of(new InetSocketAddress(InetAddress.ofLiteral("2001:db8::1"), 7835)));
    assertEquals("[::1]:80", HostPort.of(new InetSocketAddress(InetAddress.ofLiteral("::1"), 80)));
    assertEquals("fe80::1", HostPort.host(InetAddress.ofLiteral("fe80::1%1")));
    assertEquals("2001:db8::1:0:0:1", HostPort.host(InetAddress.ofLiteral("2001:db8:0:0:1:0:0:1")));
    assertEquals(
        "node.example:7835", HostPort.of(InetSocketAddress.createUnresolved("node.example", 7835)));
  }
}
