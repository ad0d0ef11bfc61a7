package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import dev.polis.api.roles.RoleName;
import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.WireName;
import dev.polis.pki.Ed25519;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.Node;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.version.Version;
import io.grpc.stub.BlockingClientCall;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;

/** Fetches nodes and shows them. */
public final class NodeRows {

  private NodeRows() {}

  public static List<Node> fetch(Session session, String filter) throws InterruptedException {
    return fetch(session, filter, Duration.ofSeconds(Long.MAX_VALUE));
  }

  /**
   * Asks for the nodes.
   *
   * @param patience how long to wait where the node that is asked answers, and its curator does not
   */
  public static List<Node> fetch(Session session, String filter, Duration patience)
      throws InterruptedException {
    GetNodesRequest request = GetNodesRequest.newBuilder().setFilter(filter).build();
    return session.unlessAway(
        () -> {
          BlockingClientCall<?, Node> call = session.management().getNodes(request);
          List<Node> nodes = new ArrayList<>();
          for (Node node = call.read(); node != null; node = call.read()) {
            nodes.add(node);
          }
          return nodes;
        },
        patience);
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
        roles("ROLES WANTED", "rolesWanted"),
        roles("ROLES RUNNING", "rolesRunning"),
        Column.wide("KEY", "key"),
        Column.wide("STORAGE", "storage"),
        Column.wide("TPM", "tpm"),
        Column.of("VERSION", "version"),
        Column.of("HEARTBEAT", "heartbeat"),
        Column.wide("LABELS", "labels"));
  }

  static JsonObject row(Node node) {
    JsonObject row = new JsonObject();
    row.addProperty("id", node.getId());
    row.addProperty("key", fingerprint(node));
    row.addProperty("state", WireName.shortened(node.getState()));
    row.addProperty(
        "address",
        node.getStatus().getExternalAddress().isEmpty()
            ? "unknown"
            : node.getStatus().getExternalAddress());
    row.addProperty("health", WireName.shortened(node.getHealth()));
    row.add("rolesWanted", names(RoleRecord.names(node.getRoles())));
    row.add(
        "rolesRunning",
        RoleRecord.running(node.getStatus())
            .<JsonElement>map(NodeRows::names)
            .orElse(JsonNull.INSTANCE));
    row.addProperty("storage", storage(node));
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

  /** Returns the text by which a person compares the node's key; a damaged record has none. */
  static String fingerprint(Node node) {
    return node.getPubkey().size() == Ed25519.KEY_BYTES
        ? Ed25519.fingerprint(Ed25519.publicKey(node.getPubkey().toByteArray()))
        : "unknown";
  }

  private static Column roles(String title, String key) {
    return new Column(title, row -> text(row.get(key)), false);
  }

  /** Renders a field for people, and says when something is unknown or empty. */
  static String text(JsonElement value) {
    if (value.isJsonNull()) {
      return "unknown";
    }
    return value.isJsonArray() && value.getAsJsonArray().isEmpty() ? "none" : Document.plain(value);
  }

  private static JsonArray names(SortedSet<RoleName> roles) {
    JsonArray names = new JsonArray();
    roles.forEach(role -> names.add(role.text()));
    return names;
  }

  /** Returns how the data volume is protected; records of older versions do not say. */
  private static String storage(Node node) {
    return node.getStorageSecurity() == NodeStorageSecurity.NODE_STORAGE_SECURITY_INVALID
        ? "unknown"
        : WireName.shortened(node.getStorageSecurity());
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
