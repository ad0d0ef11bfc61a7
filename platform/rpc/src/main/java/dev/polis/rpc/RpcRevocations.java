package dev.polis.rpc;

import dev.polis.pki.Crl;
import dev.polis.pki.IdentityException;
import java.util.Optional;

/** Describes a node's knowledge of the cluster's revocation list. */
public sealed interface RpcRevocations {
  /** Means that the cluster was just created and has revoked nothing. */
  record None() implements RpcRevocations {}

  /**
   * Holds the newest list.
   *
   * @param list signed by the cluster's CA
   */
  record Known(Crl list) implements RpcRevocations {}

  /**
   * Means that this node cannot read the existing list. Until it has the list, it accepts no
   * certificate of the cluster, since each may be revoked.
   *
   * @param reason the reason, with the name of the file
   */
  record Unknown(String reason) implements RpcRevocations {
    /** Returns the reason for the callers. */
    public String describe() {
      return "this node does not know which certificates are revoked (%s), so it accepts none; it learns it as soon as consensus answers, call again then"
          .formatted(reason);
    }
  }

  /**
   * Returns the list; empty before the first revocation.
   *
   * @throws IdentityException if the list is not known
   */
  default Optional<Crl> inForce() {
    return switch (this) {
      case None none -> Optional.empty();
      case Known known -> Optional.of(known.list());
      case Unknown unknown -> throw new IdentityException(unknown.describe());
    };
  }
}
