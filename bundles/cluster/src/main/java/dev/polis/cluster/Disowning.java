package dev.polis.cluster;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.storage.DataStatus;
import dev.polis.base.values.Watcher;
import dev.polis.files.FileException;
import dev.polis.files.layout.Root.Credentials;
import dev.polis.logtree.Log;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.RpcRevocations;
import dev.polis.supervision.Context;
import java.time.InstantSource;
import java.util.function.Supplier;

/**
 * Waits until a revocation list of the cluster names this node's certificate, then writes the proof
 * to the disk and erases the node's credentials there, and etcd's data and keys.
 */
final class Disowning {

  /** Names the remedy, after the reason. */
  static final String REMEDY =
      "no command brings this node back: its key gets no certificate again, and the cluster no"
          + " longer has its half of the volume key; stop the node (./polis down), and start the"
          + " machine with an empty state directory and new node parameters to register it as"
          + " another node";

  /** Ends the work of this node for the cluster. */
  @FunctionalInterface
  interface End {
    void disowned(String reason) throws InterruptedException;
  }

  private final EnrolmentOrgans organs;
  private final Supplier<NodeCredentials> newest;
  private final End end;
  private final InstantSource clock;

  /**
   * @param newest returns the newest credentials of this node
   * @param end is called once the disk is done
   */
  Disowning(
      EnrolmentOrgans organs, Supplier<NodeCredentials> newest, End end, InstantSource clock) {
    this.organs = organs;
    this.newest = newest;
    this.end = end;
    this.clock = clock;
  }

  /** Waits, as a supervised task that ends with the membership. */
  void run(Context context) throws InterruptedException {
    context.healthy();
    NodeCredentials former;
    Crl list;
    try (Watcher<RpcRevocations> lists = organs.rpc().revocations().watch()) {
      list = ((RpcRevocations.Known) lists.get(this::revokesThisNode)).list();
      NodeCredentials own = newest.get();
      former = organs.rpc().authorities().peek().map(own::adopting).orElse(own);
    }
    String reason =
        "the cluster has removed %s: it has revoked the certificate %s"
            .formatted(former.id(), former.certificate().getSerialNumber().toString(16));
    context.log().error("%s; %s", reason, REMEDY);
    erase(former, list, context.log());
    end.disowned(reason);
    context.done();
  }

  private boolean revokesThisNode(RpcRevocations now) {
    return now instanceof RpcRevocations.Known(Crl list)
        && list.revokes(newest.get().certificate());
  }

  /** Writes the proof first: from then on the node does not start as a member again. */
  private void erase(NodeCredentials former, Crl list, Log log) throws InterruptedException {
    try {
      organs.removal().write(former, list, clock.instant());
    } catch (FileException e) {
      report(e, log);
      return;
    }
    eraseKeys(organs, log);
  }

  /**
   * Erases the credentials that are still on an open volume, and the records of the cluster with
   * the keys of its CAs: a node that ended right after its proof left them. A closed volume is
   * encrypted, and no place has the cluster's half of the key any more: the cluster has erased it,
   * and this erases what the TPM has sealed.
   */
  static void eraseKeys(EnrolmentOrgans organs, Log log) throws InterruptedException {
    Credentials files = organs.storage().root().data().node().credentials();
    boolean open = organs.storage().data().peek().orElseThrow() instanceof DataStatus.Mounted;
    try {
      organs.storage().machineShare().erase();
      if (open && (files.key().exists() || files.certificate().exists())) {
        files.key().erase();
        files.certificate().erase();
        log.info("the credentials in %s are erased", files.path());
      }
      if (open) {
        organs.consensus().erase();
      }
    } catch (FileException | ConsensusException e) {
      report(e, log);
    }
  }

  private static void report(Exception failure, Log log) {
    // The membership ends all the same: the cluster refuses the credentials that are left. The next
    // start erases what this one could not.
    log.error(
        "the node could not erase its credentials, which the cluster refuses, or the keys of etcd:"
            + " %s; erase the state directory",
        failure.getMessage());
  }
}
