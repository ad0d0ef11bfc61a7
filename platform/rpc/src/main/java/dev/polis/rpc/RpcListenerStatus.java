package dev.polis.rpc;

import java.util.List;

/**
 * Reports the state of a listener.
 *
 * @param name its name
 * @param address its present or later address, {@code address:port}
 * @param open whether it accepts connections
 * @param detail the reason why it does not; empty if it does
 * @param flood describes a flood of connections and names its worst source; empty if there is none
 * @param callFlood describes a flood of calls and names its worst source; empty if there is none
 * @param services full names of the known services, sorted
 * @param away the services without a provider at present
 */
public record RpcListenerStatus(
    String name,
    String address,
    boolean open,
    String detail,
    String flood,
    String callFlood,
    List<String> services,
    List<String> away) {
  /** The words in a flood before the process that makes it, if it runs on this machine. */
  public static final String FROM_HERE = ", which is this machine: ";

  /** Copies the lists. */
  public RpcListenerStatus {
    services = List.copyOf(services);
    away = List.copyOf(away);
  }
}
