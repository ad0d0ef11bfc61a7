package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.MessageLite;
import dev.polis.api.curator.NodeLabels;
import dev.polis.api.roles.RoleRecord;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.Node;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Converts a node's record between its stored form and the forms for nodes and operators. */
public final class NodeRecords {

  private NodeRecords() {}

  /** Returns a node's record with the id from its key. */
  static Node withId(MessageLite record, String id) {
    Node node = (Node) record;
    return node.getId().equals(id) ? node : node.toBuilder().setId(id).build();
  }

  /** Returns the operators' view of a node with a damaged record: its id, and no valid state. */
  static dev.polis.wire.api.Node damaged(String id) {
    return dev.polis.wire.api.Node.newBuilder()
        .setId(id)
        .setState(NodeState.NODE_STATE_INVALID)
        .build();
  }

  /** Returns the nodes' view of a record, without its keys. */
  public static dev.polis.wire.curator.Node forNodes(Node stored) {
    var node =
        dev.polis.wire.curator.Node.newBuilder()
            .setId(stored.getId())
            .setRoles(stored.getRoles())
            .setState(stored.getFsmState())
            .setLabels(stored.getLabels());
    if (stored.hasStatus()) {
      node.setStatus(stored.getStatus());
    }
    if (stored.hasClusternet()) {
      node.setClusternet(stored.getClusternet());
    }
    return node.build();
  }

  /**
   * Returns the operators' view of a record, with names of roles, but without values that etcd does
   * not store.
   */
  static dev.polis.wire.api.Node forOperators(Node stored) {
    var node =
        dev.polis.wire.api.Node.newBuilder()
            .setPubkey(stored.getPublicKey())
            .setId(stored.getId())
            .setState(stored.getFsmState())
            .setRoles(RoleRecord.of(RoleRecord.names(stored.getRoles())))
            .setTpmUsage(stored.getTpmUsage())
            .setStorageSecurity(stored.getStorageSecurity())
            .setLabels(stored.getLabels());
    if (stored.hasStatus()) {
      node.setStatus(stored.getStatus());
    }
    if (stored.hasAttestation()) {
      node.setAttestation(
          stored.getAttestation().toBuilder().clearEndorsementCertificate().clearNonce());
    }
    return node.build();
  }

  /** Returns the operators' view of a node, with its health. */
  public static dev.polis.wire.api.Node withHealth(
      dev.polis.wire.api.Node stored, HeartbeatMonitor heartbeats) {
    var node = stored.toBuilder().setHealth(heartbeats.health(stored.getId(), stored.getState()));
    heartbeats
        .sinceLast(stored.getId())
        .ifPresent(since -> node.setTimeSinceHeartbeat(duration(since)));
    return node.build();
  }

  private static Duration duration(java.time.Duration since) {
    return Duration.newBuilder().setSeconds(since.toSeconds()).setNanos(since.getNano()).build();
  }

  public static Map<String, String> labels(Node node) {
    Map<String, String> labels = new TreeMap<>();
    node.getLabels().getPairsList().forEach(pair -> labels.put(pair.getKey(), pair.getValue()));
    return labels;
  }

  public static dev.polis.wire.common.NodeLabels wire(NodeLabels labels) {
    var wire = dev.polis.wire.common.NodeLabels.newBuilder();
    labels
        .pairs()
        .forEach(
            (key, value) ->
                wire.addPairs(
                    dev.polis.wire.common.NodeLabels.Pair.newBuilder()
                        .setKey(key)
                        .setValue(value)));
    return wire.build();
  }

  /** Returns the id of the node in a request: by public key, or else by id. */
  public static String idOf(boolean hasKey, ByteString key, boolean hasId, String id) {
    if (hasKey) {
      return idOfKey(key);
    }
    if (!hasId) {
      throw Refusal.invalid("the request does not name a node; set either pubkey or id");
    }
    return idOfText(id);
  }

  public static String idOfKey(ByteString key) {
    if (key.size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid(
          "pubkey has %d bytes; an Ed25519 key has %d", key.size(), Ed25519.KEY_BYTES);
    }
    return NodeId.of(key.toByteArray()).text();
  }

  public static String idOfText(String id) {
    if (!NodeId.matches(id)) {
      throw Refusal.invalid(
          "\"%s\" is not a node id; a node id is %s followed by 32 hexadecimal digits",
          id, NodeId.PREFIX);
    }
    return id;
  }

  public static boolean isUp(Node node) {
    return node.getFsmState() == NodeState.NODE_STATE_UP;
  }

  /** Returns the node that has the role KubernetesWorker; empty if none has it. */
  public static Optional<String> worker(List<Node> nodes) {
    return nodes.stream()
        .filter(node -> isUp(node) && node.getRoles().hasKubernetesWorker())
        .map(Node::getId)
        .findFirst();
  }
}
