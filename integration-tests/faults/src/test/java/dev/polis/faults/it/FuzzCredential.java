package dev.polis.faults.it;

import dev.polis.rpc.RpcClients;
import io.grpc.ManagedChannel;
import java.util.Arrays;
import java.util.List;

/** Names the caller of a senseless call. */
enum FuzzCredential {
  /** The owner of the cluster. */
  OWNER(true),
  /** The node itself. */
  NODE(true),
  /** A node with a certificate of this cluster, but without a record. */
  OTHER_NODE(true),
  /** An owner of another cluster, by its certificate. */
  FOREIGN(false),
  /** A certificate signed by its own key. */
  SELF_SIGNED(false),
  /** No certificate. */
  NOBODY(false),
  /** No TLS: a caller of the debug listener. */
  PLAINTEXT(true);

  private final boolean member;

  FuzzCredential(boolean member) {
    this.member = member;
  }

  static List<FuzzCredential> ofTls() {
    return Arrays.stream(values()).filter(credential -> credential != PLAINTEXT).toList();
  }

  /** Returns the callers that a port allows. */
  static List<FuzzCredential> of(int port) {
    return port == FaultNode.DEBUG ? List.of(PLAINTEXT) : ofTls();
  }

  /** Returns whether a listener lets it call more than the open methods. */
  boolean member() {
    return member;
  }

  ManagedChannel dial(FaultNode node, int port) {
    return this == PLAINTEXT ? node.dialDebug() : node.dial(clients(node), port);
  }

  private RpcClients clients(FaultNode node) {
    return switch (this) {
      case OWNER -> node.asOwner();
      case NODE -> node.asNode();
      case OTHER_NODE -> node.asOtherNode();
      case FOREIGN -> node.asForeigner();
      case SELF_SIGNED -> node.asSelfSigned();
      case NOBODY -> node.asNobody();
      case PLAINTEXT -> throw new AssertionError("there is no TLS without TLS");
    };
  }
}
