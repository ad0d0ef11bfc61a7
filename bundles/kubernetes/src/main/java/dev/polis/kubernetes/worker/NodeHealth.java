package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.health.HealthCondition;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.Set;

/** Derives the health of the role from the state of the worker. */
final class NodeHealth {

  private static final String NOT_READY = "node-not-ready";
  private static final String NO_CONTROLLERS = "no-controllers";

  private NodeHealth() {}

  /** Judges this node's Node object. */
  static Optional<HealthCondition> ofNode(Optional<JsonObject> node) {
    if (node.isEmpty()) {
      return Optional.of(
          HealthCondition.waiting(NOT_READY, "the kubelet has not registered this node yet"));
    }
    return NodeObject.notReady(node.get())
        .map(reason -> HealthCondition.waiting(NOT_READY, "the node is not Ready: " + reason));
  }

  /** Judges which API servers there are. */
  static Optional<HealthCondition> ofControllers(Set<InetSocketAddress> controllers) {
    return controllers.isEmpty()
        ? Optional.of(
            HealthCondition.waiting(
                NO_CONTROLLERS,
                "no node of the cluster has the role KubernetesController, so there is no API server"))
        : Optional.empty();
  }
}
