package dev.polis.ctl;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.Document.Column;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.version.Version;
import io.grpc.stub.BlockingClientCall;
import java.util.ArrayList;
import java.util.List;

/** Fetches nodes and shows them. */
final class NodeRows {

  private NodeRows() {}

  static List<Node> fetch(Session session, String filter) throws InterruptedException {
    BlockingClientCall<?, Node> call =
        session.management().getNodes(GetNodesRequest.newBuilder().setFilter(filter).build());
    return session.call(
        () -> {
          List<Node> nodes = new ArrayList<>();
          for (Node node = call.read(); node != null; node = call.read()) {
            nodes.add(node);
          }
          return nodes;
        });
  }

  static Document document(List<Node> nodes) {
    JsonArray rows = new JsonArray();
    nodes.forEach(node -> rows.add(row(node)));
    return Document.rows(
        rows,
        Column.of("NODE ID", "id"),
        Column.of("STATE", "state"),
        Column.of("ADDRESS", "address"),
        Column.of("HEALTH", "health"),
        Column.of("ROLES", "roles"),
        Column.wide("TPM", "tpm"),
        Column.of("VERSION", "version"),
        Column.of("HEARTBEAT", "heartbeat"),
        Column.wide("LABELS", "labels"));
  }

  static JsonObject row(Node node) {
    JsonObject row = new JsonObject();
    row.addProperty("id", node.getId());
    row.addProperty("state", WireName.shortened(node.getState()));
    row.addProperty(
        "address",
        node.getStatus().getExternalAddress().isEmpty()
            ? "unknown"
            : node.getStatus().getExternalAddress());
    row.addProperty("health", WireName.shortened(node.getHealth()));
    row.add("roles", roles(node.getRoles()));
    row.addProperty("tpm", tpm(node));
    row.addProperty("version", version(node.getStatus().getVersion()));
    row.addProperty(
        "heartbeat",
        node.hasTimeSinceHeartbeat() ? node.getTimeSinceHeartbeat().getSeconds() + "s" : "never");
    JsonObject labels = new JsonObject();
    node.getLabels()
        .getPairsList()
        .forEach(pair -> labels.addProperty(pair.getKey(), pair.getValue()));
    row.add("labels", labels);
    return row;
  }

  private static JsonArray roles(NodeRoles roles) {
    JsonArray names = new JsonArray();
    if (roles.hasConsensusMember()) {
      names.add("ConsensusMember");
    }
    if (roles.hasKubernetesController()) {
      names.add("KubernetesController");
    }
    if (roles.hasKubernetesWorker()) {
      names.add("KubernetesWorker");
    }
    return names;
  }

  private static String tpm(Node node) {
    return switch (node.getTpmUsage()) {
      case NODE_TPM_USAGE_PRESENT_AND_USED -> "yes";
      case NODE_TPM_USAGE_PRESENT_BUT_UNUSED -> "unused";
      case NODE_TPM_USAGE_NOT_PRESENT -> "no";
      case NODE_TPM_USAGE_INVALID, UNRECOGNIZED -> "unk";
    };
  }

  private static String version(Version version) {
    if (!version.hasRelease()) {
      return "unknown";
    }
    Version.Release release = version.getRelease();
    return "%d.%d.%d".formatted(release.getMajor(), release.getMinor(), release.getPatch());
  }
}
