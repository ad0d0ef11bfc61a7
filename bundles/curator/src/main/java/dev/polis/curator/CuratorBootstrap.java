package dev.polis.curator;

import com.google.protobuf.ByteString;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.CuratorException;
import dev.polis.curator.api.ConfigurationRules;
import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.NodeRecords;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordStore;
import dev.polis.etcd.Compare;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.pki.Ed25519;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.InitialOwner;
import dev.polis.wire.curator.stored.Node;
import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Optional;

/** Writes the first records of a cluster, in one transaction, unless there are records already. */
final class CuratorBootstrap {

  private final KeyValues kv;
  private final CuratorPki pki;

  CuratorBootstrap(KeyValues kv, CuratorPki pki) {
    this.kv = kv;
    this.pki = pki;
  }

  /** Writes the records, or checks that existing ones belong to the same node and owner. */
  BootstrapOutcome run(BootstrapRequest request) throws InterruptedException {
    ConfigurationRules.check(request.configuration());
    X509Certificate ca = pki.authority().certificate();
    Node node = record(request);
    InitialOwner owner =
        InitialOwner.newBuilder()
            .setPublicKey(raw(request.ownerKey()))
            .setRecoveryPublicKey(request.recoveryKey())
            .build();
    if (!write(request.configuration(), owner, node)) {
      try (RecordStore records = new RecordStore(kv)) {
        requireSame(records, node, owner);
      }
    }
    return new BootstrapOutcome(ca, pki.ensureNode(request.id(), request.nodeKey()));
  }

  /** Writes the records if none exists; returns whether it did. */
  private boolean write(ClusterConfiguration configuration, InitialOwner owner, Node node)
      throws InterruptedException {
    return kv.txn()
        .when(
            Compare.absent(RecordKeys.CLUSTER_CONFIGURATION),
            Compare.absent(RecordKeys.INITIAL_OWNER),
            Compare.absent(RecordKeys.node(node.getId())))
        .then(
            Op.put(RecordKeys.CLUSTER_CONFIGURATION, configuration.toByteArray()),
            Op.put(RecordKeys.INITIAL_OWNER, owner.toByteArray()),
            Op.put(RecordKeys.node(node.getId()), node.toByteArray()),
            Op.put(
                RecordKeys.joinKey(node.getJoinKey().toByteArray()),
                node.getId().getBytes(StandardCharsets.UTF_8)))
        .commit()
        .succeeded();
  }

  private static Node record(BootstrapRequest request) {
    byte[] unlockKey = request.clusterUnlockKey().reveal();
    try {
      return Node.newBuilder()
          .setId(request.id().text())
          .setPublicKey(raw(request.nodeKey()))
          .setJoinKey(raw(request.joinKey()))
          .setClusterUnlockKey(ByteString.copyFrom(unlockKey))
          .setStorageSecurity(request.storageSecurity())
          .setFsmState(NodeState.NODE_STATE_UP)
          .setTpmUsage(request.tpmUsage())
          .setLabels(NodeRecords.wire(request.labels()))
          .setRoles(
              NodeRoles.newBuilder()
                  .setConsensusMember(NodeRoles.ConsensusMember.getDefaultInstance())
                  .setKubernetesController(NodeRoles.KubernetesController.getDefaultInstance()))
          .build();
    } finally {
      Arrays.fill(unlockKey, (byte) 0);
    }
  }

  private static ByteString raw(PublicKey key) {
    return ByteString.copyFrom(Ed25519.raw(key));
  }

  /** Refuses records of another node or owner; a repeated bootstrap finds its own. */
  private static void requireSame(RecordStore records, Node node, InitialOwner owner)
      throws InterruptedException {
    Optional<Node> stored = records.node(node.getId());
    boolean sameNode =
        stored.isPresent()
            && stored.get().getPublicKey().equals(node.getPublicKey())
            && stored.get().getJoinKey().equals(node.getJoinKey())
            && stored.get().getClusterUnlockKey().equals(node.getClusterUnlockKey());
    if (!sameNode) {
      throw new CuratorException(
          "attempted to re-register node (unsupported flow): etcd already holds a cluster, which %s"
                  .formatted(
                      stored.isPresent()
                          ? "knows " + node.getId() + " with other keys"
                          : "does not know " + node.getId())
              + "; choose an empty state directory to create another cluster");
    }
    if (!records.owner().equals(owner)) {
      throw new CuratorException(
          "etcd already holds a cluster, whose owner has another key, or another recovery key, than"
              + " the node parameters name; put the former parameters back");
    }
  }
}
