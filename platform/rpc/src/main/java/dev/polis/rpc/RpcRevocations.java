package dev.polis.rpc;

import dev.polis.pki.Crl;
import dev.polis.pki.IdentityException;
import java.util.Optional;

/** States what a node knows of the certificates that its cluster has revoked. */
public sealed interface RpcRevocations {
  /** Says that nothing was revoked yet: the cluster has just been created. */
  record None() implements RpcRevocations {}

  /**
   * Holds the newest list.
   *
   * @param list signed by the cluster's CA
   */
  record Known(Crl list) implements RpcRevocations {}

  /**
   * Says that there is a list, and that this node does not know it. Until it does, it accepts no
   * certificate of the cluster, since any may be revoked.
   *
   * @param reason why not, naming the file
   */
  record Unknown(String reason) implements RpcRevocations {
    /** Returns the reason that callers get. */
    public String describe() {
      return "this node does not know which certificates are revoked (%s), so it accepts none; it learns it as soon as consensus answers, call again then"
          .formatted(reason);
    }
  }

  /**
   * Returns the list; empty if nothing was revoked yet.
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
