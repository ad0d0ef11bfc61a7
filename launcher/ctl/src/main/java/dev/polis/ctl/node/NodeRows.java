package dev.polis.ctl.node;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.api.roles.RoleRecord;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.Rows;
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

/** Fetches nodes and shows them. */
public final class NodeRows {

  /** All that is known of nodes. */
  static final Rows<Node> ALL =
      new Rows<Node>()
          .column("NODE ID", "id", Node::getId)
          .column("STATE", "state", node -> WireName.shortened(node.getState()))
          .column("ADDRESS", "address", NodeRows::address)
          .column("HEALTH", "health", node -> WireName.shortened(node.getHealth()))
          .field("rolesWanted", node -> RoleRecord.names(node.getRoles()))
          .column(roles("ROLES WANTED", "rolesWanted"))
          .field("rolesRunning", node -> RoleRecord.running(node.getStatus()))
          .column(new Column("ROLES RUNNING", NodeRows::running, false))
          .wide("KEY", "key", NodeRows::fingerprint)
          .wide("STORAGE", "storage", NodeRows::storage)
          .wide("TPM", "tpm", NodeRows::tpm)
          .field("attestation", AttestedLines::json)
          .column("VERSION", "version", NodeRows::version)
          .column("HEARTBEAT", "heartbeat", NodeRows::heartbeat)
          .wide("LABELS", "labels", NodeRows::labels);

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

  /** Returns whether a node is to have a role. */
  public static boolean has(Node node, String role) {
    return RoleRecord.names(node.getRoles()).stream().anyMatch(each -> each.text().equals(role));
  }

  static String address(Node node) {
    String address = node.getStatus().getExternalAddress();
    return address.isEmpty() ? "unknown" : address;
  }

  private static String heartbeat(Node node) {
    return node.hasTimeSinceHeartbeat() ? node.getTimeSinceHeartbeat().getSeconds() + "s" : "never";
  }

  private static JsonObject labels(Node node) {
    JsonObject labels = new JsonObject();
    node.getLabels()
        .getPairsList()
        .forEach(pair -> labels.addProperty(pair.getKey(), pair.getValue()));
    return labels;
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

  /** Renders the running roles; a node that is silent may have lost those that it reported. */
  private static String running(JsonObject row) {
    JsonElement reported = row.get("rolesRunning");
    String silent = WireName.shortened(Node.Health.HEALTH_HEARTBEAT_TIMEOUT);
    boolean old = !reported.isJsonNull() && row.get("health").getAsString().equals(silent);
    return (old ? "last known: " : "") + text(reported);
  }

  /** Renders a field for people, and says when something is unknown or empty. */
  static String text(JsonElement value) {
    if (value.isJsonNull()) {
      return "unknown";
    }
    return value.isJsonArray() && value.getAsJsonArray().isEmpty() ? "none" : Document.plain(value);
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

  private static String version(Node node) {
    Version version = node.getStatus().getVersion();
    if (!version.hasRelease()) {
      return "unknown";
    }
    Version.Release release = version.getRelease();
    return "%d.%d.%d".formatted(release.getMajor(), release.getMinor(), release.getPatch());
  }
}
