package dev.polis.kubernetes.worker;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.Optional;

/** Reads the parts of a Node object that concern the worker. */
final class NodeObject {

  private static final String READY = "Ready";

  private NodeObject() {}

  /** Returns the node's own range of Pod addresses; empty until it was given one. */
  static Optional<String> podRange(JsonObject node) {
    return Optional.ofNullable(node.getAsJsonObject("spec").get("podCIDR"))
        .map(JsonElement::getAsString)
        .filter(range -> !range.isEmpty());
  }

  /** Returns why the node is not Ready, in the kubelet's words; empty if it is. */
  static Optional<String> notReady(JsonObject node) {
    if (!node.has("status") || !node.getAsJsonObject("status").has("conditions")) {
      return Optional.of("the kubelet has not reported yet");
    }
    for (JsonElement each : node.getAsJsonObject("status").getAsJsonArray("conditions")) {
      JsonObject condition = each.getAsJsonObject();
      if (condition.get("type").getAsString().equals(READY)) {
        return condition.get("status").getAsString().equals("True")
            ? Optional.empty()
            : Optional.of(condition.get("message").getAsString());
      }
    }
    return Optional.of("the kubelet has not reported yet");
  }
}
