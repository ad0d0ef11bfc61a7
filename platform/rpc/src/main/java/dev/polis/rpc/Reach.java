package dev.polis.rpc;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Tells how far a connection to a TLS server gets. After a call without an answer it distinguishes
 * a firewall, a program that is not there, one that hangs, and a path that loses large packets.
 */
public enum Reach {
  /** The server has reacted to a small packet. */
  ANSWERS(
      "it answers small packets, and not a whole call: the path loses packets, or drops large ones (path MTU), or the program there is overloaded",
      "ping -c 20 %1$s shows whether packets are lost: then look at cable, port and card on both machines; if only ping -M do -s 1400 %1$s has no answer, ip link set dev NAME mtu 1280 on both machines, or remove the rule that drops large packets"),
  /** The kernel accepts connections, and the program behind the port does nothing with them. */
  MUTE(
      "the connection opens, and nothing answers: the program there hangs, or a signal has stopped it",
      "on %1$s, end a stop with kill -CONT PID, or start the node there again"),
  /** The machine is up and no program has the port. */
  REFUSED(
      "the connection is refused: nothing listens there",
      "on %1$s, start the node; if it runs, ./polis ctl --state DIR health says there why the port is closed; if it is open there, another machine has this address: compare ip neigh show %1$s here with ip -br link there"),
  /** Nothing comes back. */
  LOST(
      "no packet comes back: a firewall drops them, the path is cut, or the machine is off or has lost this address",
      "check that the machine with %1$s is on; if it is, nft list ruleset on both machines shows the rule that drops port %2$d: remove it; without one, repair the path between both"),
  /** This machine's kernel sends nothing. */
  UNROUTED(
      "this machine cannot send to it: it has no route, its own firewall forbids it, or the other machine does not answer in its network",
      "ip route get %1$s shows the route, ip neigh whether the machine answers: repair the link, or start the machine");

  /**
   * The begin of a request without TLS. Each TLS server ends such a connection at once, so its
   * reaction shows that it works, with packets of less than 100 bytes.
   */
  private static final byte[] NO_TLS = "GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final String text;
  private final String remedy;

  Reach(String text, String remedy) {
    this.text = text;
    this.remedy = remedy;
  }

  /** Returns the finding as a clause. */
  public String text() {
    return text;
  }

  /** Returns what an operator does about it. */
  public String remedy(InetSocketAddress server) {
    return remedy.formatted(server.getHostString(), server.getPort());
  }

  /**
   * Connects once.
   *
   * @param within the time for the connection, and again for the reaction
   */
  public static Reach of(InetSocketAddress server, Duration within) {
    int millis = Math.toIntExact(within.toMillis());
    try (Socket socket = new Socket()) {
      try {
        socket.connect(server, millis);
      } catch (SocketTimeoutException silent) {
        return LOST;
      } catch (ConnectException refused) {
        return REFUSED;
      } catch (SocketException | UnknownHostException unsent) {
        return UNROUTED;
      }
      return reaction(socket, millis);
    } catch (IOException cut) {
      return ANSWERS; // a reset is a reaction, too
    }
  }

  private static Reach reaction(Socket socket, int millis) throws IOException {
    try {
      socket.setSoTimeout(millis);
      socket.getOutputStream().write(NO_TLS);
      socket.getInputStream().read();
      return ANSWERS;
    } catch (SocketTimeoutException silent) {
      return MUTE;
    }
  }
}
