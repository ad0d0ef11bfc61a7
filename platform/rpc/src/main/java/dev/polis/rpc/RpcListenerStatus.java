package dev.polis.rpc;

import java.util.List;

/**
 * Reports the state of a listener.
 *
 * @param name its name
 * @param address where it is or will be, {@code address:port}
 * @param open whether it accepts connections
 * @param detail why not, in words; empty if it does
 * @param flood who opens more connections than the listener bears, in words; empty if nobody does
 * @param callFlood who begins more calls than the listener bears, in words; empty if nobody does
 * @param services full names of the services it knows, sorted
 * @param away those of them that nobody provides at present
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
  /** Copies the lists. */
  public RpcListenerStatus {
    services = List.copyOf(services);
    away = List.copyOf(away);
  }
}
