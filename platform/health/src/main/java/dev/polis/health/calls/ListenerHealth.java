package dev.polis.health.calls;

import dev.polis.health.HealthCondition;
import dev.polis.rpc.RpcListenerStatus;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Says what the state of a listener means for the health of the organ that serves on it. */
public final class ListenerHealth {
  private static final String CODE = "listener-closed";

  private ListenerHealth() {}

  /**
   * Makes a judge of a TLS listener, which opens when the node has credentials.
   *
   * @param listener its name
   * @return tells from the state of all listeners what is wrong with this one
   */
  public static Function<List<RpcListenerStatus>, Optional<HealthCondition>> encrypted(
      String listener) {
    return all ->
        closed(listener, all).map(status -> HealthCondition.waiting(CODE, describe(status)));
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
        closed(listener, all).map(status -> HealthCondition.down(CODE, describe(status), remedy));
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
