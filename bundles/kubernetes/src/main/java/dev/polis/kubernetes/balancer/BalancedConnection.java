package dev.polis.kubernetes.balancer;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Carries bytes between a client of the load balancer and one API server. Two threads run its two
 * directions; it ends when both have ended, or one of them fails.
 */
final class BalancedConnection implements AutoCloseable {

  private final Socket client;
  private final Socket upstream;
  private final InetSocketAddress server;

  BalancedConnection(Socket client, Socket upstream, InetSocketAddress server) {
    this.client = client;
    this.upstream = upstream;
    this.server = server;
  }

  InetSocketAddress server() {
    return server;
  }

  /** Copies the client's bytes until their end. */
  void forward() {
    carry(client, upstream);
  }

  /** Copies the API server's bytes until their end. */
  void backward() {
    carry(upstream, client);
  }

  private void carry(Socket from, Socket to) {
    try {
      from.getInputStream().transferTo(to.getOutputStream());
      // The other direction may continue: an end of input ends one direction only.
      to.shutdownOutput();
    } catch (IOException broken) {
      // One side is broken or was closed here, so this ends the other side.
      close();
    }
  }

  @Override
  public void close() {
    closeQuietly(client);
    closeQuietly(upstream);
  }

  /** Closes an unneeded socket, whatever the result. */
  static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException alreadyBroken) {
      // The connection is useless in either case.
    }
  }
}
