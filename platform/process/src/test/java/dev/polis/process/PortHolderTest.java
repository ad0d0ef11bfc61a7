package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PortHolderTest {

  @TempDir private Path proc;

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
  @DisplayName("the process of this machine with the connections of a source is named")
  void client() throws Exception {
    InetAddress here = InetAddress.ofLiteral("127.9.8.4");
    InetAddress from = InetAddress.ofLiteral("127.9.8.3");
    try (ServerSocket server = new ServerSocket();
        Socket first = new Socket();
        Socket second = new Socket()) {
      server.bind(new InetSocketAddress(here, 0));
      for (Socket each : List.of(first, second)) {
        each.bind(new InetSocketAddress(from, 0));
        each.connect(server.getLocalSocketAddress());
        server.accept().close();
      }
      assertEquals(
          Optional.of(us.orElseThrow() + ", which has 2 open"),
          holders.client(from, server.getLocalPort()));
      assertEquals(Optional.empty(), holders.client(here, server.getLocalPort()));
    }
  }

  @Test
  @DisplayName("machines whose connections await the answer to a packet that was sent again")
  void unanswering() throws Exception {
    Files.createDirectories(proc.resolve("net"));
    Files.writeString(
        proc.resolve("net/tcp"),
        """
        head
         0: 0100007F:1E9B 0200000A:1E9A 01 00000000:00000000 01:00000014 00000002 0 0 97 1
         1: 0100007F:1E9B 0300000A:1E9A 01 00000000:00000000 00:00000000 00000000 0 0 98 1
         2: 0100007F:1E9B 0400000A:1E9A 02 00000000:00000000 01:00000014 00000002 0 0 99 1
        """);

    assertEquals(List.of(InetAddress.ofLiteral("10.0.0.2")), new PortHolder(proc).unanswering());
  }

  @Test
  @DisplayName("a process that listens on all addresses has the port on each")
  void wildcard() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      assertEquals(us, holders.find(InetAddress.ofLiteral("127.9.8.7"), socket.getLocalPort()));
    }
  }

  @Test
  @DisplayName("a port of this process is not to be freed by its end, that of another process is")
  void conflict() throws Exception {
    InetAddress here = InetAddress.ofLiteral("127.9.8.5");
    try (ServerSocket socket = new ServerSocket()) {
      socket.bind(new InetSocketAddress(here, 0));
      assertEquals(
          Optional.of("this node itself has it, with its %s: set x".formatted(us.orElseThrow())),
          holders.conflict(here, socket.getLocalPort(), "set x"));
    }
    Path process = Files.createDirectories(proc.resolve("4711/fd")).getParent();
    Files.createSymbolicLink(process.resolve("fd/3"), Path.of("socket:[99]"));
    Files.writeString(process.resolve("comm"), "nginx\n");
    Path self = Files.createDirectories(proc.resolve("17/fd")).getParent();
    Files.createSymbolicLink(self.resolve("fd/1"), Path.of("/srv/s/node.lock"));
    Files.createSymbolicLink(proc.resolve("self"), Path.of("17"));
    Files.createDirectories(proc.resolve("net"));
    Files.writeString(
        proc.resolve("net/tcp"), "head\n 0: 0100007F:1E9B 00000000:0000 0A 0:0 0:0 0 0 0 99 1\n");
    InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
    assertEquals(
        Optional.of("process 4711 (nginx) has it: end it, or set x"),
        new PortHolder(proc).conflict(loopback, 0x1E9B, "set x"));

    Files.createSymbolicLink(
        process.resolve("fd/1"), Path.of("/srv/s/ephemeral/processes/nginx.log"));
    assertEquals(
        Optional.of("this node itself has it, with its process 4711 (nginx): set x"),
        new PortHolder(proc).conflict(loopback, 0x1E9B, "set x"));

    Files.delete(process.resolve("fd/1"));
    Files.createSymbolicLink(
        process.resolve("fd/1"), Path.of("/srv/s/ephemeral/processes/nginx.log (deleted)"));
    String forgotten = new PortHolder(proc).conflict(loopback, 0x1E9B, "set x").orElseThrow();
    assertTrue(forgotten.contains("an earlier run of this node has it"), forgotten);
    assertTrue(forgotten.endsWith(": kill 4711, and start the node again"), forgotten);
  }

  @ParameterizedTest
  @CsvSource({
    "java, /srv/other/node.lock",
    "etcd, /srv/other/ephemeral/processes/etcd.log",
    "etcd, /srv/other/ephemeral/processes/etcd.log.1"
  })
  @DisplayName("the port of another node is described with that node and the command that ends it")
  void otherNode(String name, String file) throws Exception {
    Path process = Files.createDirectories(proc.resolve("4711/fd")).getParent();
    Files.createSymbolicLink(process.resolve("fd/1"), Path.of(file));
    Files.createSymbolicLink(process.resolve("fd/3"), Path.of("socket:[99]"));
    Files.writeString(process.resolve("comm"), name + "\n");
    Files.createDirectories(proc.resolve("net"));
    Files.writeString(
        proc.resolve("net/tcp"), "head\n 0: 0100007F:1E9B 00000000:0000 0A 0:0 0:0 0 0 0 99 1\n");
    assertEquals(
        Optional.of(
            "process 4711 (%s) of the node in /srv/other (ended by './polis down --state /srv/other')"
                .formatted(name)),
        new PortHolder(proc).find(InetAddress.ofLiteral("127.0.0.1"), 0x1E9B));
  }
}
