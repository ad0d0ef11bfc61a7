package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.NodeLabels;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.Refusal;
import dev.polis.curator.record.Tickets;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiConflictException;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcException;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.common.NodeStorageSecurity;
import dev.polis.wire.common.NodeTPMUsage;
import dev.polis.wire.curator.CommitNodeRequest;
import dev.polis.wire.curator.CommitNodeResponse;
import dev.polis.wire.curator.JoinNodeRequest;
import dev.polis.wire.curator.JoinNodeResponse;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.InstantSource;
import java.util.Map;
import java.util.TreeMap;

/**
 * Takes machines into the cluster: each registers, commits its half of the volume key after its
 * approval, and asks for that half after a reboot. Each call may be repeated after a lost answer.
 */
final class NodeEnrolment {

  /** Length of the cluster's half of a volume key in bytes. */
  private static final int UNLOCK_KEY_BYTES = 32;

  /** Names the only way by which a removed machine becomes a node again. */
  private static final String START_ANEW =
      "start the machine with an empty state directory and new node parameters to register it as"
          + " another node";

  private final MachineAttestation attestation;
  private final InstantSource clock;

  NodeEnrolment(MachineAttestation attestation, InstantSource clock) {
    this.attestation = attestation;
    this.clock = clock;
  }

  // ---- register

  /**
   * Makes the record of a NEW node.
   *
   * @param key the node key that the caller has proved
   */
  RegisterNodeResponse register(LeaderTerm term, PublicKey key, RegisterNodeRequest request)
      throws InterruptedException {
    RegisterTicket ticket =
        term.records().registerTicket().orElseGet(RegisterTicket::getDefaultInstance);
    Tickets.require(ticket, request.getRegisterTicket(), clock.instant());
    if (request.getJoinKey().size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid(
          "join_key has %d bytes; an Ed25519 key has %d",
          request.getJoinKey().size(), Ed25519.KEY_BYTES);
    }
    NodeId id = NodeId.of(key);
    if (term.pki().isRevoked(id)) {
      throw Refusal.precondition(
          "node %s was removed from this cluster, and its key never gets a certificate again; %s",
          id, START_ANEW);
    }
    ClusterConfiguration configuration = term.records().read().configuration();
    Node.Builder candidate = candidate(key, request, configuration);
    if (request.hasAttestation()) {
      candidate.setAttestation(attestation.check(key, request.getAttestation()));
    }
    Node attested = candidate.build();
    Node stored = term.records().register(attested, ticket, before -> same(before, attested));
    return RegisterNodeResponse.newBuilder()
        .setClusterConfiguration(configuration)
        .setTpmUsage(stored.getTpmUsage())
        .setRecommendedNodeStorageSecurity(
            StoragePolicy.recommended(configuration.getStorageSecurityPolicy()))
        .build();
  }

  private static Node.Builder candidate(
      PublicKey key, RegisterNodeRequest request, ClusterConfiguration configuration) {
    return Node.newBuilder()
        .setId(NodeId.of(key).text())
        .setPublicKey(raw(key))
        .setJoinKey(request.getJoinKey())
        .setFsmState(NodeState.NODE_STATE_NEW)
        .setTpmUsage(tpm(configuration, request.getHaveLocalTpm()))
        .setLabels(NodeRecords.wire(labels(request)));
  }

  private static NodeTPMUsage tpm(ClusterConfiguration configuration, boolean present) {
    return switch (configuration.getTpmMode()) {
      case TPM_MODE_REQUIRED -> {
        if (!present) {
          throw Refusal.precondition(
              "this cluster demands a TPM (tpm_mode TPM_MODE_REQUIRED), and the machine reports"
                  + " none");
        }
        yield NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED;
      }
      case TPM_MODE_BEST_EFFORT ->
          present
              ? NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED
              : NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT;
      case TPM_MODE_DISABLED ->
          present
              ? NodeTPMUsage.NODE_TPM_USAGE_PRESENT_BUT_UNUSED
              : NodeTPMUsage.NODE_TPM_USAGE_NOT_PRESENT;
      case TPM_MODE_INVALID, UNRECOGNIZED ->
          throw Refusal.precondition(
              "the cluster's configuration has no valid tpm_mode: %d",
              configuration.getTpmModeValue());
    };
  }

  /** Returns the labels without malformed ones; of two with one key the first counts. */
  private static NodeLabels labels(RegisterNodeRequest request) {
    Map<String, String> kept = new TreeMap<>();
    request
        .getLabels()
        .getPairsList()
        .forEach(
            pair -> {
              boolean sound =
                  NodeLabels.problemOfKey(pair.getKey()).isEmpty()
                      && NodeLabels.problemOfValue(pair.getValue()).isEmpty();
              if (sound && kept.size() < NodeLabels.MAX_COUNT) {
                kept.putIfAbsent(pair.getKey(), pair.getValue());
              }
            });
    return NodeLabels.of(kept);
  }

  /** Accepts a repeated registration, which may come after the approval; refuses another one. */
  private static Node same(Node before, Node candidate) {
    if (!before.getPublicKey().equals(candidate.getPublicKey())
        || !before.getJoinKey().equals(candidate.getJoinKey())) {
      throw Refusal.precondition(
          "node %s has registered with another join key; start the machine with the state directory"
              + " of its first registration, or with an empty one to register it as another node",
          before.getId());
    }
    MachineAttestation.requireUnused(before, candidate);
    return switch (before.getFsmState()) {
      // With the evidence of the first registration, which the approver may have seen.
      case NODE_STATE_NEW, NODE_STATE_STANDBY -> before;
      default ->
          throw Refusal.precondition(
              "node %s is %s and cannot register again; start the machine with an empty state"
                  + " directory to register it as another node",
              before.getId(), before.getFsmState());
    };
  }

  // ---- commit

  /**
   * Makes an approved node UP, and issues its certificate.
   *
   * @param key the node key that the caller has proved
   */
  CommitNodeResponse commit(LeaderTerm term, PublicKey key, CommitNodeRequest request)
      throws InterruptedException {
    NodeId id = NodeId.of(key);
    RecordSnapshot records = term.records().read();
    checkCommit(request, records.configuration());
    term.records()
        .updateNode(id.text(), () -> notRegistered(id), node -> committed(node, key, request));
    // After the record: a node whose commit is refused gets no certificate.
    X509Certificate certificate = certify(term, id, key);
    return CommitNodeResponse.newBuilder()
        .setCaCertificate(authority(term))
        .setNodeCertificate(ByteString.copyFrom(Pem.der(certificate)))
        .build();
  }

  private static ByteString authority(LeaderTerm term) throws InterruptedException {
    return ByteString.copyFrom(Pem.der(term.pki().authority().certificate()));
  }

  private static RpcException notRegistered(NodeId id) {
    return Refusal.notFound(
        "node %s is not registered; if it was, an operator has deleted its registration: make new"
            + " node parameters (polisctl params make --register) and start the machine with those"
            + " and an empty state directory",
        id);
  }

  /** Issues the certificate of a member, unless an operator removes the node meanwhile. */
  private static X509Certificate certify(LeaderTerm term, NodeId id, PublicKey key)
      throws InterruptedException {
    X509Certificate certificate;
    try {
      certificate = term.pki().ensureNode(id, key);
    } catch (PkiConflictException busy) {
      throw busy;
    } catch (PkiException refused) {
      throw Refusal.precondition(
          "node %s gets no certificate: %s; %s", id, refused.getMessage(), START_ANEW);
    }
    // A removal that began before found no certificate to revoke.
    if (term.records().node(id.text()).filter(NodeRecords::isUp).isEmpty()) {
      term.pki().revokeNode(id);
      throw Refusal.precondition(
          "node %s was removed from this cluster while it asked for its certificate", id);
    }
    return certificate;
  }

  private static void checkCommit(CommitNodeRequest request, ClusterConfiguration configuration) {
    StoragePolicy.check(configuration.getStorageSecurityPolicy(), request.getStorageSecurity());
    int expected =
        request.getStorageSecurity() == NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE
            ? 0
            : UNLOCK_KEY_BYTES;
    if (request.getClusterUnlockKey().size() != expected) {
      throw Refusal.invalid(
          "cluster_unlock_key has %d bytes; with %s it must have %d",
          request.getClusterUnlockKey().size(), request.getStorageSecurity(), expected);
    }
  }

  private static Node committed(Node node, PublicKey key, CommitNodeRequest request) {
    if (!node.getPublicKey().equals(raw(key))) {
      throw Refusal.denied("node %s has registered with another key", node.getId());
    }
    return switch (node.getFsmState()) {
      case NODE_STATE_NEW ->
          throw Refusal.denied(
              "node %s waits for the approval of an operator: polisctl node approve %s",
              node.getId(), node.getId());
      case NODE_STATE_STANDBY ->
          node.toBuilder()
              .setFsmState(NodeState.NODE_STATE_UP)
              .setClusterUnlockKey(request.getClusterUnlockKey())
              .setStorageSecurity(request.getStorageSecurity())
              .build();
      case NODE_STATE_UP -> sameCommit(node, request);
      default ->
          throw Refusal.precondition(
              "node %s is %s and cannot become a member", node.getId(), node.getFsmState());
    };
  }

  private static Node sameCommit(Node node, CommitNodeRequest request) {
    boolean same =
        MessageDigest.isEqual(
                node.getClusterUnlockKey().toByteArray(),
                request.getClusterUnlockKey().toByteArray())
            && node.getStorageSecurity() == request.getStorageSecurity();
    if (!same) {
      throw Refusal.precondition(
          "node %s is a member already, with another unlock key or storage security; the cluster"
              + " does not replace them, because its volume could then not be opened",
          node.getId());
    }
    return node;
  }

  // ---- join

  /**
   * Returns the cluster's half of a member's volume key, and its certificate. Without the latter a
   * node whose certificate ended while it was off could not come back, since each call but this one
   * needs it. The certificate is of use only to the holder of the node's own key.
   *
   * @param key the join key that the caller has proved
   */
  JoinNodeResponse join(LeaderTerm term, PublicKey key, JoinNodeRequest request)
      throws InterruptedException {
    Node node =
        term.records()
            .nodeOfJoinKey(raw(key))
            .orElseThrow(
                () ->
                    Refusal.notFound(
                        "no node of this cluster has this join key: the cluster has removed the"
                            + " node, or it belongs to another cluster; if it was removed, "
                            + START_ANEW));
    requireUp(node);
    boolean sealed = node.getTpmUsage() == NodeTPMUsage.NODE_TPM_USAGE_PRESENT_AND_USED;
    if (request.getUsingSealedConfiguration() != sealed) {
      throw Refusal.precondition(
          "node %s has registered with its keys %s its TPM, and now uses them %s; start it on its"
              + " own machine, with its own state directory",
          node.getId(),
          sealed ? "sealed to" : "outside of",
          sealed ? "unsealed" : "sealed to a TPM");
    }
    PublicKey own = Ed25519.publicKey(node.getPublicKey().toByteArray());
    X509Certificate certificate = certify(term, NodeId.parse(node.getId()), own);
    return JoinNodeResponse.newBuilder()
        .setClusterUnlockKey(node.getClusterUnlockKey())
        .setNodeCertificate(ByteString.copyFrom(Pem.der(certificate)))
        .build();
  }

  private static void requireUp(Node node) {
    switch (node.getFsmState()) {
      case NODE_STATE_UP -> {}
      case NODE_STATE_DECOMMISSION_REQUESTED,
          NODE_STATE_DECOMMISSIONING,
          NODE_STATE_DECOMMISSIONED ->
          throw Refusal.precondition(
              "the cluster has removed node %s (%s): it cannot join again; %s",
              node.getId(), node.getFsmState(), START_ANEW);
      default ->
          throw Refusal.precondition(
              "node %s is %s; only a node that is UP can join", node.getId(), node.getFsmState());
    }
  }

  private static ByteString raw(PublicKey key) {
    return ByteString.copyFrom(Ed25519.raw(key));
  }
}
