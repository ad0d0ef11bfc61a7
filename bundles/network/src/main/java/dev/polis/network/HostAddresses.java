package dev.polis.network;

import dev.polis.api.network.NetworkStatus;
import dev.polis.base.posix.Errno;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Finds the node's address among those of the machine. */
final class HostAddresses {

  /** Reads the machine's interfaces; replaced in tests. */
  interface Machine {
    /** Returns the addresses of all interfaces that are up. */
    List<InetAddress> addresses() throws SocketException;

    /** Returns whether programs of this machine reach each other. */
    boolean loopbackIsUp() throws IOException;

    /**
     * Tries to listen at an address.
     *
     * @throws IOException if the system refuses
     */
    void probe(InetAddress address) throws IOException;
  }

  private final String configured;
  private final Machine machine;

  /**
   * @param configured a checked IP address; empty to select one of the machine's
   */
  HostAddresses(String configured, Machine machine) {
    this.configured = configured;
    this.machine = machine;
  }

  /** Returns the machine of this process. */
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
      public boolean loopbackIsUp() throws IOException {
        return dev.polis.base.posix.Machine.loopbackIsUp();
      }

      @Override
      public void probe(InetAddress address) throws IOException {
        try (ServerSocket socket = new ServerSocket()) {
          socket.bind(new InetSocketAddress(address, 0)); // any free port
        }
      }
    };
  }

  private static boolean isUp(NetworkInterface link) {
    try {
      return link.isUp();
    } catch (SocketException e) {
      return false; // another program removed it meanwhile
    }
  }

  /**
   * Returns the node's address if the machine has it now, or else the missing part.
   *
   * @param awaited why the machine may get an address soon, so that 127.0.0.1 is none; empty if it
   *     has all its addresses
   */
  NetworkStatus poll(Optional<String> awaited) {
    try {
      if (!machine.loopbackIsUp()) {
        return new NetworkStatus.Waiting(
            "the interface lo is down, and the parts of a node reach each other through it; bring it up (ip link set lo up)");
      }
      List<InetAddress> assigned = machine.addresses();
      return configured.isEmpty() ? byDefault(assigned, awaited) : configured(assigned);
    } catch (IOException e) {
      return new NetworkStatus.Waiting(
          "the interfaces of this machine cannot be listed: " + e.getMessage());
    }
  }

  private NetworkStatus configured(List<InetAddress> assigned) {
    InetAddress wanted = InetAddress.ofLiteral(configured);
    if (assigned.contains(wanted) || isLoopbackBlock(wanted)) {
      return probed(wanted);
    }
    return new NetworkStatus.Waiting(
        "address %1$s is not assigned to any interface that is up (those have %2$s); give it to one (ip addr add %1$s dev NAME), or start the node with another --address"
            .formatted(
                configured,
                assigned.stream()
                    .filter(address -> !address.isLinkLocalAddress())
                    .map(HostAddresses::text)
                    .collect(Collectors.joining(", "))));
  }

  /** Returns an address as people write it: of IPv6 the short form of RFC 5952. */
  private static String text(InetAddress address) {
    return address instanceof Inet6Address
        ? NetUtil.toAddressString(address)
        : address.getHostAddress();
  }

  private NetworkStatus byDefault(List<InetAddress> assigned, Optional<String> awaited) {
    Optional<InetAddress> first =
        assigned.stream()
            .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
            .min(Comparator.comparing(address -> address instanceof Inet4Address ? 0 : 1));
    return first.isEmpty() && awaited.isPresent()
        ? new NetworkStatus.Waiting(awaited.get())
        : probed(first.orElseGet(() -> InetAddress.ofLiteral("127.0.0.1")));
  }

  private NetworkStatus probed(InetAddress address) {
    try {
      machine.probe(address);
      return new NetworkStatus.Up(address);
    } catch (IOException e) {
      if (Errno.of(e) == Errno.EADDRINUSE) {
        return new NetworkStatus.Up(address); // it is there, and only no local port is left
      }
      return new NetworkStatus.Waiting(
          "the node cannot listen at address %s: %s".formatted(text(address), e.getMessage()));
    }
  }

  /**
   * Returns whether an address is in 127/8, which belongs to the loopback interface although no
   * list shows it.
   */
  private static boolean isLoopbackBlock(InetAddress address) {
    return address instanceof Inet4Address && address.isLoopbackAddress();
  }
}
