package dev.polis.network;

import dev.polis.api.network.NetworkStatus;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/** Finds the node's address among those of the machine. */
final class HostAddresses {

  /** What the machine has; replaced in tests. */
  interface Machine {
    /** The addresses of all interfaces that are up. */
    List<InetAddress> addresses() throws SocketException;

    /**
     * Tries to listen there.
     *
     * @throws IOException if that is refused
     */
    void probe(InetAddress address) throws IOException;
  }

  private final String configured;
  private final Machine machine;

  /**
   * @param configured an IP address, or empty for a default
   */
  HostAddresses(String configured, Machine machine) {
    this.configured = configured;
    this.machine = machine;
  }

  /** The machine this process runs on. */
  static Machine thisMachine() {
    return new Machine() {
      @Override
      public List<InetAddress> addresses() throws SocketException {
        return NetworkInterface.networkInterfaces()
            .filter(HostAddresses::isUp)
            .sorted(Comparator.comparingInt(NetworkInterface::getIndex))
            .flatMap(NetworkInterface::inetAddresses)
            .toList();
      }

      @Override
      public void probe(InetAddress address) throws IOException {
        try (ServerSocket socket = new ServerSocket()) {
          socket.bind(
              new InetSocketAddress(address, 0)); // any free port: the listeners choose theirs
        }
      }
    };
  }

  private static boolean isUp(NetworkInterface link) {
    try {
      return link.isUp();
    } catch (SocketException e) {
      return false; // it went away between the two looks
    }
  }

  /** Refuses a configured address that never can be one. */
  static void validate(String configured) {
    if (configured.isEmpty()) {
      return;
    }
    InetAddress address = parse(configured);
    if (address.isAnyLocalAddress() || address.isMulticastAddress()) {
      throw new IllegalArgumentException(
          "address \"%s\" is no address of one machine; configure the one that other nodes reach this node at"
              .formatted(configured));
    }
  }

  private static InetAddress parse(String configured) {
    try {
      return InetAddress.ofLiteral(configured);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "address \"%s\" is no IP address; configure one like 192.0.2.7, names are not looked up"
              .formatted(configured),
          e);
    }
  }

  /** What the machine gives now. */
  NetworkStatus look() {
    try {
      List<InetAddress> assigned = machine.addresses();
      return configured.isEmpty() ? byDefault(assigned) : configured(assigned);
    } catch (SocketException e) {
      return new NetworkStatus.Waiting(
          "the interfaces of this machine cannot be listed: " + e.getMessage());
    }
  }

  private NetworkStatus configured(List<InetAddress> assigned) {
    InetAddress wanted = parse(configured);
    if (assigned.contains(wanted) || isLoopbackBlock(wanted)) {
      return probed(wanted);
    }
    return new NetworkStatus.Waiting(
        "address %s is not assigned to any interface that is up (those have %s)"
            .formatted(
                configured,
                assigned.stream()
                    .map(InetAddress::getHostAddress)
                    .collect(Collectors.joining(", "))));
  }

  private NetworkStatus byDefault(List<InetAddress> assigned) {
    InetAddress first =
        assigned.stream()
            .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
            .min(Comparator.comparing(address -> address instanceof Inet4Address ? 0 : 1))
            .orElseGet(() -> InetAddress.ofLiteral("127.0.0.1"));
    return probed(first);
  }

  private NetworkStatus probed(InetAddress address) {
    try {
      machine.probe(address);
      return new NetworkStatus.Up(address);
    } catch (IOException e) {
      return new NetworkStatus.Waiting(
          "address %s cannot be listened on: %s"
              .formatted(address.getHostAddress(), e.getMessage()));
    }
  }

  /** All of 127/8 belongs to the loopback interface, though only 127.0.0.1 is listed. */
  private static boolean isLoopbackBlock(InetAddress address) {
    return address instanceof Inet4Address && address.isLoopbackAddress();
  }
}
