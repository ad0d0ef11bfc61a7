package dev.polis.kubernetes.worker;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Reads the parts of a Node object that concern the worker. */
final class NodeObject {

  private static final String READY = "Ready";

  private NodeObject() {}

  /** Returns the node's own range of Pod addresses; empty before its assignment. */
  static Optional<String> podRange(JsonObject node) {
    return Optional.ofNullable(node.getAsJsonObject("spec").get("podCIDR"))
        .map(JsonElement::getAsString)
        .filter(range -> !range.isEmpty());
  }

  /** Returns the kubelet's reason why the node is not Ready; empty if it is. */
  static Optional<String> notReady(JsonObject node) {
    return conditions(node)
        .filter(condition -> text(condition, "type").equals(READY))
        .findFirst()
        .map(ready -> text(ready, "status").equals("True") ? READY : text(ready, "message"))
        .or(() -> Optional.of("the kubelet has not reported yet"))
        .filter(message -> !message.equals(READY));
  }

  /** Returns the types of the node's shortages, such as {@code DiskPressure}. */
  static List<String> pressures(JsonObject node) {
    return conditions(node)
        .filter(condition -> text(condition, "status").equals("True"))
        .map(condition -> text(condition, "type"))
        .filter(type -> type.endsWith("Pressure"))
        .toList();
  }

  /** Returns whether a user has excluded the node from new Pods. */
  static boolean cordoned(JsonObject node) {
    JsonObject spec = node.getAsJsonObject("spec");
    return spec.has("unschedulable") && spec.get("unschedulable").getAsBoolean();
  }

  private static Stream<JsonObject> conditions(JsonObject node) {
    JsonObject status = node.getAsJsonObject("status");
    return status != null && status.has("conditions")
        ? status.getAsJsonArray("conditions").asList().stream().map(JsonElement::getAsJsonObject)
        : Stream.empty();
  }

  private static String text(JsonObject condition, String field) {
    return condition.has(field) ? condition.get(field).getAsString() : "";
  }
}
