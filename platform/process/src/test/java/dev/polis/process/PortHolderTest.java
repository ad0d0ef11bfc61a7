package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PortHolderTest {

  private final PortHolder holders = new PortHolder();
  private final Optional<String> us =
      Optional.of("process " + ProcessHandle.current().pid() + " (java)");

  @Test
  @DisplayName("the listening process is named; for another address or a free port there is none")
  void named() throws Exception {
    InetAddress here = InetAddress.ofLiteral("127.9.8.7");
    InetAddress there = InetAddress.ofLiteral("127.9.8.6");
    int port;
    try (ServerSocket socket = new ServerSocket()) {
      socket.bind(new InetSocketAddress(here, 0));
      port = socket.getLocalPort();

      assertEquals(us, holders.find(here, port));
      assertEquals(Optional.empty(), holders.find(there, port));
    }
    assertEquals(Optional.empty(), holders.find(here, port));
  }

  @Test
  @DisplayName("a process that listens on all addresses has the port on each")
  void wildcard() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      assertEquals(us, holders.find(InetAddress.ofLiteral("127.9.8.7"), socket.getLocalPort()));
    }
  }
}
