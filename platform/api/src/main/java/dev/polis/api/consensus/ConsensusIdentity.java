package dev.polis.api.consensus;

import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.util.Objects;

/**
 * Holds the identity of the member.
 *
 * @param node this node; the member bears its name
 * @param nodeKey the node's Ed25519 private key, whose public half determines {@code node}
 */
public record ConsensusIdentity(NodeId node, PrivateKey nodeKey) {

  /** Refuses the key of another node. */
  public ConsensusIdentity {
    Objects.requireNonNull(node, "node");
    NodeId ofKey = NodeId.of(Ed25519.publicKey(nodeKey));
    if (!ofKey.equals(node)) {
      throw new IllegalArgumentException(
          "the private key belongs to "
              + ofKey
              + ", not to "
              + node
              + "; give the node its own key");
    }
  }

  /** Returns the identity of the node that owns this key. */
  public static ConsensusIdentity of(PrivateKey nodeKey) {
    return new ConsensusIdentity(NodeId.of(Ed25519.publicKey(nodeKey)), nodeKey);
  }

  /** Returns the public half of the node's key. */
  public PublicKey publicKey() {
    return Ed25519.publicKey(nodeKey);
  }

  @Override
  public String toString() {
    return "ConsensusIdentity[" + node + ", <secret key>]";
  }
}
