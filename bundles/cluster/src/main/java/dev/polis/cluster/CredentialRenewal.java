package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.curator.CuratorException;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.base.values.Watcher;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.pki.CaBundle;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Renewal;
import dev.polis.supervision.Context;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/** Keeps the node's certificate and its trusted CAs up to date, without a restart. */
final class CredentialRenewal {

  /**
   * The longest pause between checks, in which a machine notices a changed clock after a
   * suspension.
   */
  private static final Duration LONGEST_SLEEP = Duration.ofHours(1);

  /** The pause after a failed renewal for which a rotation of the CA waits. */
  private static final Duration RETRY_OF_ROTATION = Duration.ofSeconds(5);

  /** The pause after a failed renewal, for which ten days remain. */
  private static final Duration RETRY = Duration.ofMinutes(1);

  private final EnrolmentOrgans organs;
  private final Consumer<NodeCredentials> publish;
  private final InstantSource clock;
  private final ReentrantLock lock = new ReentrantLock();
  private NodeCredentials present; // guarded by lock
  private boolean held; // guarded by lock

  /**
   * Creates the runnable.
   *
   * @param first the present credentials
   * @param publish receives all newer ones
   */
  CredentialRenewal(
      EnrolmentOrgans organs,
      NodeCredentials first,
      Consumer<NodeCredentials> publish,
      InstantSource clock) {
    this.organs = organs;
    this.present = first;
    this.publish = publish;
    this.clock = clock;
  }

  void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<CaBundle> authorities = organs.rpc().authorities().watch()) {
      while (true) {
        awaitChange(authorities, stepUnlessHeld(context));
      }
    }
  }

  private static void awaitChange(Watcher<CaBundle> authorities, Duration longest)
      throws InterruptedException {
    try {
      authorities.get(any -> true, longest);
    } catch (TimeoutException due) {
      // The next step is due without a change of the CAs.
    }
  }

  private Duration stepUnlessHeld(Context context) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      return held ? RETRY : step(context);
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a running renewal, and starts no further one, since another instance takes over. */
  void hold() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      held = true;
    } finally {
      lock.unlock();
    }
  }

  /** Resumes the renewals, from these credentials. */
  void goOn(NodeCredentials newest) {
    lock.lock();
    try {
      held = false;
      present = newest;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Trusts newer CAs of the cluster, renews a certificate that is due or of a former CA, and
   * returns the wait before the next check.
   */
  Duration step(Context context) throws InterruptedException {
    CaBundle newest = newest();
    boolean former = !newest.isCurrent(present.certificate());
    Duration left = Renewal.of(present.certificate()).until(clock.instant());
    Duration retry = former ? RETRY_OF_ROTATION : RETRY;
    try {
      adopt(newest, context.log());
      if (!former && left.isPositive()) {
        return left.compareTo(LONGEST_SLEEP) < 0 ? left : LONGEST_SLEEP;
      }
      X509Certificate newer = newer(context.log());
      if (newer.equals(present.certificate())) {
        context
            .log()
            .warning(
                "the curator does not renew the node's certificate yet; compare the clocks of both nodes");
        return retry;
      }
      replace(newer);
      adopt(newest(), context.log());
      context
          .log()
          .info(
              "the node has renewed its certificate, which is valid until %s",
              newer.getNotAfter().toInstant());
      return Duration.ZERO;
    } catch (CuratorException | EnrolmentException | FileException e) {
      context
          .log()
          .warning(
              "the node could not renew its certificate, which is valid until %s: %s",
              present.certificate().getNotAfter().toInstant(), e.getMessage());
      return retry;
    }
  }

  /** Returns the CAs that the node trusts; those of its credentials before it has listeners. */
  private CaBundle newest() {
    return organs.rpc().authorities().peek().orElse(present.ca());
  }

  private void adopt(CaBundle newest, Log log) throws FileException {
    NodeCredentials adopted = present.adopting(newest);
    if (adopted.ca().equals(present.ca())) {
      return;
    }
    LateRenewal.trust(organs, adopted.ca());
    present = adopted;
    publish.accept(adopted);
    log.info("the node now trusts %s", adopted.ca());
  }

  /**
   * Asks the curator for a certificate. A leader on another node refuses a certificate that ended,
   * so this node then proves its join key.
   */
  private X509Certificate newer(Log log) throws InterruptedException, FileException {
    try {
      return organs.curator().renew(present);
    } catch (CuratorException refused) {
      boolean ended =
          clock.instant().isAfter(present.certificate().getNotAfter().toInstant())
              || !newest().issued(present.certificate());
      Set<NodeEndpoint> others =
          ended ? new KnownCurators(organs, log).elsewhere() : Set.<NodeEndpoint>of();
      if (!others.isEmpty()
          && organs.storage().sealedConfiguration().read()
              instanceof Stored.Present<SealedConfiguration>(var _, var sealed)) {
        try (ClusterCalls cluster = LateRenewal.calls(sealed.trusting(present.ca()), others, log)) {
          return new LateRenewal(organs)
              .renew(
                  present,
                  cluster::authorities,
                  request -> cluster.once(leader -> leader.joinNode(request)).getNodeCertificate())
              .certificate();
        }
      }
      throw refused;
    }
  }

  private void replace(X509Certificate newer) throws FileException {
    // This comes first: it refuses a certificate that does not match before it overwrites the good
    // one.
    NodeCredentials renewed = present.renewed(newer);
    LateRenewal.write(organs, newer);
    present = renewed;
    organs.rpc().identify(renewed);
    publish.accept(renewed);
  }
}
