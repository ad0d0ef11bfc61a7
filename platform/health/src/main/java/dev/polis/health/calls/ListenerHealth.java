package dev.polis.health.calls;

import dev.polis.health.HealthCondition;
import dev.polis.rpc.RpcListenerStatus;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Says what the state of a listener means for the health of the organ that serves on it. */
public final class ListenerHealth {
  private static final String CODE = "listener-closed";
  private static final String FLOOD = "connection-flood";
  private static final String CALL_FLOOD = "call-flood";
  private static final String FIREWALL =
      "keep that source away with the firewall in front of the node";

  private ListenerHealth() {}

  /**
   * Makes a judge of a TLS listener, which opens when the node has credentials.
   *
   * @param listener its name
   * @param floodable names of others whose floods are told here as well
   * @return tells from the state of all listeners what is wrong with this one
   */
  public static Function<List<RpcListenerStatus>, Optional<HealthCondition>> encrypted(
      String listener, String... floodable) {
    Set<String> names =
        Stream.concat(Stream.of(listener), Stream.of(floodable)).collect(Collectors.toSet());
    return all ->
        closed(listener, all)
            .map(status -> HealthCondition.waiting(CODE, describe(status)))
            .or(() -> flooded(names, all));
  }

  /**
   * Makes a judge of a plain-text listener, which opens with its first service.
   *
   * @param listener its name
   * @param remedy what to do while it is closed
   * @return tells from the state of all listeners what is wrong with this one
   */
  public static Function<List<RpcListenerStatus>, Optional<HealthCondition>> plaintext(
      String listener, String remedy) {
    return all ->
        closed(listener, all)
            .map(status -> HealthCondition.down(CODE, describe(status), remedy))
            .or(() -> flooded(Set.of(listener), all));
  }

  private static Optional<HealthCondition> flooded(
      Set<String> listeners, List<RpcListenerStatus> all) {
    return first(listeners, all, RpcListenerStatus::flood)
        .map(words -> HealthCondition.degraded(FLOOD, words, FIREWALL))
        .or(
            () ->
                first(listeners, all, RpcListenerStatus::callFlood)
                    .map(words -> HealthCondition.degraded(CALL_FLOOD, words, FIREWALL)));
  }

  private static Optional<String> first(
      Set<String> listeners,
      List<RpcListenerStatus> all,
      Function<RpcListenerStatus, String> flood) {
    return all.stream()
        .filter(status -> listeners.contains(status.name()) && !flood.apply(status).isEmpty())
        .findFirst()
        .map(status -> "at the listener '%s' %s".formatted(status.name(), flood.apply(status)));
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
