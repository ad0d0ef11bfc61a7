package dev.polis.curator.api;

import dev.polis.curator.record.Refusal;
import dev.polis.rpc.HostPort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.URISyntaxException;

/**
 * Compares the address that a node reports with the source address of its report. Clients find the
 * node by the reported address, and the curator certifies its kubelet for it, so a compromised node
 * must not name the address of another server.
 *
 * <p>A report from this machine may name any of the machine's addresses: within a machine the
 * kernel chooses the source of a connection, such as 127.0.0.1 for all of 127.0.0.0/8.
 */
final class ReportedAddress {

  private ReportedAddress() {}

  /**
   * Reads an address.
   *
   * @param text the reported address
   * @param from the source address of the report
   * @throws dev.polis.rpc.RpcException if the text is no address, or not the reporting node's
   */
  static InetAddress read(String text, InetAddress from) {
    InetAddress reported;
    try {
      reported = InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw Refusal.invalid("status.external_address \"%s\" is not an IPv4 or IPv6 address", text);
    }
    if (!reported.equals(from) && !(isHere(from) && isHere(reported))) {
      throw Refusal.denied(
          "status.external_address is %s, but the report comes from %s; give the node the address from which it reaches the leader: polis up --address %s",
          text, from.getHostAddress(), from.getHostAddress());
    }
    return reported;
  }

  /**
   * Returns an address for people to read, as people write it.
   *
   * @param text the reported address
   * @param from the source address of the report, which counts if the text is no address
   */
  static String shown(String text, InetAddress from) {
    try {
      return HostPort.host(InetAddress.ofLiteral(text));
    } catch (IllegalArgumentException noAddress) {
      return HostPort.host(from);
    }
  }

  /** Returns the IP address in a URL, as nodes report theirs; an empty text without one. */
  static String ofUrl(String url) {
    try {
      String host = new URI(url).getHost();
      return host == null ? "" : InetAddress.ofLiteral(host).getHostAddress();
    } catch (URISyntaxException | IllegalArgumentException noAddress) {
      return "";
    }
  }

  private static boolean isHere(InetAddress address) {
    try {
      return address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
    } catch (IOException e) {
      throw new UncheckedIOException("the network interfaces cannot be read", e);
    }
  }
}
