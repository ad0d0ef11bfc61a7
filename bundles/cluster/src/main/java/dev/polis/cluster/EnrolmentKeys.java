package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.logtree.Secret;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.wire.storage.EnrolmentJournal;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.SecureRandom;

/**
 * Holds the keys of a node that becomes a member.
 *
 * @param node identifies the node
 * @param join proves the node before its volume is open
 * @param unlock both halves of the volume key
 */
record EnrolmentKeys(KeyPair node, KeyPair join, UnlockKeys unlock) {

  /** Writes new keys into a journal. */
  static EnrolmentJournal.Builder generate(EnrolmentJournal.Builder journal, SecureRandom random) {
    UnlockKeys unlock = UnlockKeys.generate(random);
    return journal
        .setNodePrivateKey(seedOf(Ed25519.generate()))
        .setJoinPrivateKey(seedOf(Ed25519.generate()))
        .setNodeUnlockKey(ByteString.copyFrom(unlock.node().reveal()))
        .setClusterUnlockKey(ByteString.copyFrom(unlock.cluster().reveal()));
  }

  private static ByteString seedOf(KeyPair pair) {
    return ByteString.copyFrom(Ed25519.seed(pair.getPrivate()));
  }

  /** Returns the keys in a journal. */
  static EnrolmentKeys of(EnrolmentJournal journal) {
    return new EnrolmentKeys(
        pair(journal.getNodePrivateKey().toByteArray()),
        pair(journal.getJoinPrivateKey().toByteArray()),
        new UnlockKeys(
            Secret.of(journal.getNodeUnlockKey().toByteArray()),
            Secret.of(journal.getClusterUnlockKey().toByteArray())));
  }

  /** Returns the key pair of a seed. */
  static KeyPair pair(byte[] seed) {
    PrivateKey privateKey = Ed25519.privateKeyFromSeed(seed);
    return new KeyPair(Ed25519.publicKey(privateKey), privateKey);
  }

  NodeId id() {
    return NodeId.of(node.getPublic());
  }
}
