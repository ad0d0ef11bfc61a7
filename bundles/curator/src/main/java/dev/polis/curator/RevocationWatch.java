package dev.polis.curator;

import dev.polis.base.values.Watcher;
import dev.polis.curator.record.CuratorPki;
import dev.polis.etcd.EtcdClient;
import dev.polis.logtree.Log;
import dev.polis.pki.Crl;
import dev.polis.pki.PkiAuthority;
import dev.polis.pki.PkiException;
import dev.polis.supervision.Context;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Watches the cluster's revocation list and its newest CA in etcd, and gives each new one to this
 * node. A supervised runnable of each curator that keeps records, leader or not.
 */
final class RevocationWatch {

  private final Supplier<EtcdClient> connect;
  private final LocalTrust trust;

  RevocationWatch(Supplier<EtcdClient> connect, LocalTrust trust) {
    this.connect = connect;
    this.trust = trust;
  }

  /** Watches until it is cancelled. */
  void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get()) {
      PkiAuthority authority = CuratorPki.founded(etcd, etcd.kv()).authority();
      context.run("successors", child -> followSuccessors(authority, child));
      keepKnown(authority, context.log());
      try (Watcher<Crl> lists = authority.followCrl().watch()) {
        context.healthy();
        while (true) {
          Crl list = lists.get();
          // Its signer may be a CA that this node does not know yet.
          succeed(authority::proof, context.log());
          trust.revoke(list);
        }
      }
    }
  }

  private void followSuccessors(PkiAuthority authority, Context context)
      throws InterruptedException {
    context.healthy();
    try (Watcher<List<X509Certificate>> proofs = authority.followSuccession().watch()) {
      while (true) {
        List<X509Certificate> proof = proofs.get();
        succeed(() -> proof, context.log());
      }
    }
  }

  /** Learns of a newer CA; a proof that proves nothing keeps no revocation back. */
  private void succeed(Proof proof, Log log) throws InterruptedException {
    try {
      trust.succeed(proof.read());
    } catch (PkiException damaged) {
      log.error("This node keeps its former CAs of the cluster: %s.", damaged.getMessage());
    }
  }

  @FunctionalInterface
  private interface Proof {
    List<X509Certificate> read() throws InterruptedException;
  }

  /**
   * Brings etcd's list up to the one that this node knows: after a restore from a snapshot, what
   * was revoked since stays revoked.
   */
  private void keepKnown(PkiAuthority authority, Log log) throws InterruptedException {
    Optional<Crl> known = trust.revoked();
    if (known.isPresent()) {
      Crl before = authority.crl();
      Crl after = authority.keepRevoked(known.get(), trust.authorities());
      if (!after.equals(before)) {
        log.warning(
            "the cluster's records were older than this node's revocation list %s, and had %s; they now have %s",
            known.get(), before, after);
      }
    }
  }
}
