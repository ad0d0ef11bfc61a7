package dev.polis.ctl.session;

import dev.polis.pki.NodeId;
import dev.polis.pki.PkiException;
import dev.polis.wire.api.Node;
import java.util.Optional;

/**
 * Names the listeners of one node.
 *
 * @param host the address of the node
 * @param nodeOrNull the only node that is accepted there; null if the node that answered first is
 */
public record Place(String host, NodeId nodeOrNull) {

  /** Returns the only node that is accepted there; empty if the node that answered first is. */
  public Optional<NodeId> node() {
    return Optional.ofNullable(nodeOrNull);
  }

  /**
   * Returns the place of a node that the leader lists.
   *
   * @throws CtlException if the node has reported no address
   */
  public static Place of(Node node) {
    String address = node.getStatus().getExternalAddress();
    if (address.isEmpty()) {
      throw new CtlException(node.getId() + " has not reported an address yet; ask again soon");
    }
    return of(node.getId(), address);
  }

  /** Returns the place of the node with an id. */
  public static Place of(String id, String address) {
    try {
      return new Place(address, NodeId.parse(id));
    } catch (PkiException malformed) {
      throw new CtlException(
          "the cluster lists a node at %s whose certificate cannot be checked: %s"
              .formatted(address, malformed.getMessage()),
          malformed);
    }
  }
}
