package dev.polis.curator.leader;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.Socket;
import java.net.SocketTimeoutException;

/**
 * Connects to the curator of a leader that is silent. The kernel of its machine accepts connections
 * for a process that is slow or stopped, but not for one that has ended; and a machine without
 * power or network does not answer at all.
 */
final class LeaderProbe {

  /** Far longer than a round trip between nodes, and short beside the silence of a leader. */
  private static final int WITHIN_MILLIS = 400;

  private LeaderProbe() {}

  /** Returns whether no process listens at this address, or no machine answers there. */
  static boolean refused(String host, int port) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.ofLiteral(host), port), WITHIN_MILLIS);
      return false;
    } catch (ConnectException | NoRouteToHostException | SocketTimeoutException gone) {
      return true;
    } catch (IOException unknown) {
      // Such as too many open files of this process, which say nothing about the other one.
      return false;
    }
  }
}
