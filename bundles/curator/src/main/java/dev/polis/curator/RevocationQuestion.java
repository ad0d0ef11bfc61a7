package dev.polis.curator;

import dev.polis.base.backoff.Backoff;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.PkiException;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Asks the curators, while the leader is silent, whether the cluster has revoked the certificate of
 * this node. A leader refuses all calls with a revoked certificate, also the one that would send
 * the revocation list. So this asks as a stranger, and believes only a list that the cluster's CA
 * has signed.
 */
final class RevocationQuestion {

  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private final Value<Boolean> silence;
  private final Set<NodeEndpoint> curators;
  private final Supplier<NodeCredentials> newest;
  private final LocalTrust trust;

  /**
   * @param silence holds whether the leader is silent
   * @param newest returns the newest credentials of this node
   * @param trust receives the list that revokes them
   */
  RevocationQuestion(
      Value<Boolean> silence,
      Set<NodeEndpoint> curators,
      Supplier<NodeCredentials> newest,
      LocalTrust trust) {
    this.silence = silence;
    this.curators = curators;
    this.newest = newest;
    this.trust = trust;
  }

  /** Asks during each silence, until it is cancelled or a list revokes this node. */
  void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<Boolean> changes = silence.watch()) {
      boolean revoked = false;
      while (!revoked) {
        changes.get(silent -> silent);
        revoked = askUntilHeard(changes, context.log());
      }
    }
    context.done();
  }

  /** Returns whether a list revokes this node; false once the leader is heard again. */
  private boolean askUntilHeard(Watcher<Boolean> changes, Log log) throws InterruptedException {
    Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    while (true) {
      for (NodeEndpoint curator : curators) {
        Optional<Crl> list = ask(curator, log).filter(this::revokesThisNode);
        if (list.isPresent()) {
          log.warning(
              "the cluster has revoked the certificate of this node: the curator at %s has %s",
              HostPort.of(curator.address()), list.get());
          trust.revoke(list.get());
          return true;
        }
      }
      if (heardWithin(changes, backoff.next())) {
        return false;
      }
    }
  }

  private static boolean heardWithin(Watcher<Boolean> changes, Duration pause)
      throws InterruptedException {
    try {
      changes.get(silent -> !silent, pause);
      return true;
    } catch (TimeoutException stillSilent) {
      return false;
    }
  }

  private boolean revokesThisNode(Crl list) {
    return list.revokes(newest.get().certificate());
  }

  private Optional<Crl> ask(NodeEndpoint curator, Log log) {
    NodeCredentials own = newest.get();
    ManagedChannel stranger = RpcClients.anonymous(RpcTrust.cluster(own.ca())).dial(curator);
    try {
      byte[] list =
          MembershipGrpc.newBlockingV2Stub(stranger)
              .withDeadlineAfter(LIMIT.toMillis(), TimeUnit.MILLISECONDS)
              .getRevocations(GetRevocationsRequest.getDefaultInstance())
              .getRevocations()
              .toByteArray();
      return Optional.of(Crl.parse(list).verify(own.ca()));
    } catch (StatusException noAnswer) {
      log.v(1)
          .info(
              "the curator at %s gives no revocation list: %s",
              HostPort.of(curator.address()), noAnswer.getMessage());
      return Optional.empty();
    } catch (PkiException damaged) {
      log.warning(
          "the curator at %s gives a damaged revocation list: %s",
          HostPort.of(curator.address()), damaged.getMessage());
      return Optional.empty();
    } finally {
      stranger.shutdownNow();
    }
  }
}
