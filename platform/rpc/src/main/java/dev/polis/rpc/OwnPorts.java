package dev.polis.rpc;

import dev.polis.process.PortHolder;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Knows the settings of the ports that this process has open, and explains a port that is taken.
 */
final class OwnPorts {

  private static final Map<InetSocketAddress, String> SETTINGS = new ConcurrentHashMap<>();

  private OwnPorts() {}

  static void note(InetSocketAddress address, String setting) {
    SETTINGS.put(address, setting);
  }

  static void forget(InetSocketAddress address) {
    SETTINGS.remove(address);
  }

  /**
   * Describes the process that has the port, and what an operator does, as a clause.
   *
   * @param setting the key that asks for the port, such as {@code dev.polis.metrics.port}
   */
  static String conflict(InetSocketAddress address, String setting) {
    return holder(address)
        .map(
            other ->
                "this node itself has it, as %s names the same port: set %s to another one"
                    .formatted(other, setting))
        .orElseGet(() -> new PortHolder().describe(address, "set " + setting + " to another port"));
  }

  /** A listener at all addresses has the port at each. */
  private static Optional<String> holder(InetSocketAddress address) {
    boolean all = address.getAddress().isAnyLocalAddress();
    return SETTINGS.entrySet().stream()
        .filter(open -> open.getKey().getPort() == address.getPort())
        .filter(
            open ->
                all
                    || open.getKey().getAddress().isAnyLocalAddress()
                    || open.getKey().getAddress().equals(address.getAddress()))
        .map(Map.Entry::getValue)
        .findFirst();
  }
}
