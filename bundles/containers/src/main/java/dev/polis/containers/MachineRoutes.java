package dev.polis.containers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Holds the state of a machine's network at one moment.
 *
 * @param devices the names of its network devices
 * @param addresses the addresses of all devices
 * @param routes the lines of the kernel's table
 */
record MachineRoutes(Set<String> devices, Set<InetAddress> addresses, List<String> routes) {

  private static final Path TABLE = Path.of("/proc/net/route");

  /** Reads the present state of this machine. */
  static MachineRoutes read() throws IOException {
    List<NetworkInterface> all = NetworkInterface.networkInterfaces().toList();
    return new MachineRoutes(
        all.stream().map(NetworkInterface::getName).collect(Collectors.toSet()),
        all.stream().flatMap(NetworkInterface::inetAddresses).collect(Collectors.toSet()),
        Files.readAllLines(TABLE));
  }

  /** Returns whether a device leads to an IPv4 address. */
  boolean hasRoute(String device, InetAddress to) {
    int word = ByteBuffer.wrap(to.getAddress()).order(ByteOrder.nativeOrder()).getInt();
    return routes.stream().anyMatch(line -> line.startsWith("%s\t%08X\t".formatted(device, word)));
  }
}
