package dev.polis.health.calls;

import dev.polis.health.HealthCondition;
import dev.polis.rpc.RpcListenerStatus;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/** Turns the state of a listener into the health of the organ that serves on it. */
public final class ListenerHealth {
  private static final String CODE = "listener-closed";
  private static final String FLOOD = "connection-flood";
  private static final String CALL_FLOOD = "call-flood";
  private static final String FIREWALL =
      "keep that source away with the firewall in front of the node";

  private static final String END =
      "end that process, or let it close its connections; a firewall cannot keep it away";

  private ListenerHealth() {}

  /**
   * Makes a judge of a TLS listener, which opens when the node has credentials. It also reports
   * floods at all other ports of the node.
   *
   * @param listener its name
   * @param plaintext listeners with judges of their own
   * @return a function from the state of all listeners to the fault of this one
   */
  public static Function<List<RpcListenerStatus>, Optional<HealthCondition>> encrypted(
      String listener, String... plaintext) {
    Set<String> others = Set.of(plaintext);
    return all ->
        closed(listener, all)
            .map(status -> HealthCondition.waiting(CODE, describe(status)))
            .or(() -> flooded(name -> !others.contains(name), all));
  }

  /**
   * Makes a judge of a plain-text listener, which opens with its first service.
   *
   * @param listener its name
   * @param remedy the remedy while it is closed
   * @return a function from the state of all listeners to the fault of this one
   */
  public static Function<List<RpcListenerStatus>, Optional<HealthCondition>> plaintext(
      String listener, String remedy) {
    return all ->
        closed(listener, all)
            .map(status -> HealthCondition.down(CODE, describe(status), remedy))
            .or(() -> flooded(listener::equals, all));
  }

  private static Optional<HealthCondition> flooded(
      Predicate<String> listeners, List<RpcListenerStatus> all) {
    return first(listeners, all, RpcListenerStatus::flood)
        .map(words -> HealthCondition.degraded(FLOOD, words, remedy(words)))
        .or(
            () ->
                first(listeners, all, RpcListenerStatus::callFlood)
                    .map(words -> HealthCondition.degraded(CALL_FLOOD, words, remedy(words))));
  }

  private static String remedy(String flood) {
    return flood.contains(RpcListenerStatus.FROM_HERE) ? END : FIREWALL;
  }

  private static Optional<String> first(
      Predicate<String> listeners,
      List<RpcListenerStatus> all,
      Function<RpcListenerStatus, String> flood) {
    return all.stream()
        .filter(status -> listeners.test(status.name()) && !flood.apply(status).isEmpty())
        .findFirst()
        .map(
            status ->
                "at the listener '%s' (%s) %s"
                    .formatted(status.name(), status.address(), flood.apply(status)));
  }

  private static Optional<RpcListenerStatus> closed(String listener, List<RpcListenerStatus> all) {
    return all.stream()
        .filter(status -> status.name().equals(listener) && !status.open())
        .findFirst();
  }

  private static String describe(RpcListenerStatus status) {
    return "the listener '%s' at %s is not open: %s"
        .formatted(status.name(), status.address(), status.detail());
  }
}
