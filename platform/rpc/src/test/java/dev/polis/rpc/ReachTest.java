package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ReachTest {

  /** Far beyond the microseconds of loopback, and short for the two cases that wait for it. */
  private static final Duration WITHIN = Duration.ofMillis(500);

  private static ServerSocket server() throws IOException {
    return new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.137.1"));
  }

  private static InetSocketAddress at(ServerSocket server) {
    return (InetSocketAddress) server.getLocalSocketAddress();
  }

  @Test
  @DisplayName("a port without a listener is refused")
  void refused() throws Exception {
    InetSocketAddress closed;
    try (ServerSocket server = server()) {
      closed = at(server);
    }
    assertEquals(Reach.REFUSED, Reach.of(closed, WITHIN));
    assertTrue(Reach.REFUSED.remedy(closed).contains("127.0.137.1"), Reach.REFUSED.remedy(closed));
  }

  @Test
  @DisplayName("a listener whose program takes no connection is mute")
  void mute() throws Exception {
    try (ServerSocket server = server()) {
      assertEquals(Reach.MUTE, Reach.of(at(server), WITHIN));
    }
  }

  @Test
  @DisplayName("a server that ends a connection without TLS answers")
  void answers() throws Exception {
    try (ServerSocket server = server()) {
      Thread ends =
          Thread.startVirtualThread(
              () -> {
                try {
                  server.accept().close();
                } catch (IOException closed) {
                  // The test has ended before.
                }
              });
      assertEquals(Reach.ANSWERS, Reach.of(at(server), Duration.ofSeconds(10)));
      ends.join();
      String remedy = Reach.ANSWERS.remedy(at(server));
      assertTrue(remedy.startsWith("ping -c 20 127."), "lost packets come first: " + remedy);
    }
  }

  @Test
  @DisplayName("a port whose packets get no answer is lost, and the remedy names the port")
  void lost() throws Exception {
    List<Socket> waiting = new ArrayList<>();
    try (ServerSocket server = server()) {
      // The kernel drops the packets of further connections once the queue of a listener is full.
      fill(server, waiting);
      assertEquals(Reach.LOST, Reach.of(at(server), WITHIN));
      String remedy = Reach.LOST.remedy(at(server));
      assertTrue(remedy.contains("port " + server.getLocalPort()), remedy);
    } finally {
      for (Socket each : waiting) {
        each.close();
      }
    }
  }

  private static void fill(ServerSocket server, List<Socket> waiting) throws IOException {
    try {
      while (true) {
        Socket next = new Socket();
        waiting.add(next);
        next.connect(at(server), Math.toIntExact(WITHIN.toMillis()));
      }
    } catch (SocketTimeoutException full) {
      return;
    }
  }
}
