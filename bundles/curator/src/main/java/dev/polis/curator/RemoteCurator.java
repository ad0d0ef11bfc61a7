package dev.polis.curator;

import dev.polis.api.curator.CuratorException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Values;
import dev.polis.base.values.Watcher;
import dev.polis.logtree.Log;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.wire.cluster.FollowTrustRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.TrustLists;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCurrentLeaderRequest;
import dev.polis.wire.curator.GetCurrentLeaderResponse;
import io.grpc.Channel;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

/**
 * Asks the leader of the cluster for what a curator with records reads in etcd: who leads, the
 * revocation list, the trusted keys, the operators, this node's certificate. Thread-safe.
 */
final class RemoteCurator {

  /** A silent leader counts as known for this long, as it does for curators with etcd. */
  static final Duration PATIENCE = Duration.ofSeconds(10);

  /** Holds whether the leader answers. */
  private sealed interface Contact {

    /** The leader has named itself, or its successor. */
    record Answered(CuratorStatus.Following leader) implements Contact {}

    /** The leader has not answered since this time of the monotonic clock. */
    record Silent(long since) implements Contact {}
  }

  private final Set<NodeEndpoint> curators;
  private final LocalTrust trust;
  private final MutableValue<CuratorStatus> status;
  private final MutableValue<Contact> contact = new MutableValue<>();
  private final AtomicReference<NodeCredentials> credentials;
  private volatile LeaderConnection connection; // null unless run() follows the leader

  RemoteCurator(
      NodeCredentials credentials,
      Set<NodeEndpoint> curators,
      LocalTrust trust,
      MutableValue<CuratorStatus> status) {
    this.credentials = new AtomicReference<>(credentials);
    this.curators = Set.copyOf(curators);
    this.trust = trust;
    this.status = status;
  }

  /** Returns the newest credentials of this node. */
  NodeCredentials credentials() {
    return credentials.updateAndGet(this::adopting);
  }

  private NodeCredentials adopting(NodeCredentials now) {
    CaBundle newest = trust.authorities();
    return now.ca().equals(newest) ? now : now.adopting(newest);
  }

  Set<NodeEndpoint> curators() {
    return curators;
  }

  /** Follows the leader, whichever node that is, until cancelled. */
  void run(Context context) throws InterruptedException {
    try (LeaderConnection leader =
        new LeaderConnection(this::credentials, curators, context.subLog("resolver"))) {
      connection = leader;
      context.run("contact", this::publish);
      context.run(
          "revocation",
          new RevocationQuestion(
                  Values.map(contact, Contact.Silent.class::isInstance),
                  curators,
                  this::credentials,
                  trust)
              ::run);
      context.run(
          "leader",
          child ->
              leader.follow(
                  child,
                  "the question which node leads",
                  channel ->
                      CuratorLocalGrpc.newBlockingV2Stub(channel)
                          .withWaitForReady()
                          .getCurrentLeader(GetCurrentLeaderRequest.getDefaultInstance()),
                  () -> {
                    silent();
                    return this::answered;
                  }));
      context.run(
          "trust",
          child ->
              leader.follow(
                  child,
                  "the watch of the revocation list, the trusted keys and the operators",
                  channel ->
                      MembershipGrpc.newBlockingV2Stub(channel)
                          .withWaitForReady()
                          .followTrust(FollowTrustRequest.getDefaultInstance()),
                  () -> lists -> take(lists, child.log())));
      context.healthy();
      context.awaitCancelled();
    } finally {
      connection = null;
    }
  }

  private void silent() {
    contact.update(
        now ->
            now.filter(Contact.Silent.class::isInstance)
                .orElseGet(() -> new Contact.Silent(System.nanoTime())));
  }

  private void answered(GetCurrentLeaderResponse answer) {
    if (NodeId.matches(answer.getLeaderNodeId())) {
      contact.set(
          new Contact.Answered(
              new CuratorStatus.Following(
                  NodeId.parse(answer.getLeaderNodeId()),
                  answer.getLeaderHost(),
                  answer.getLeaderPort())));
    }
  }

  /** Publishes each leader at once, and its silence only when that lasts. */
  private void publish(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<Contact> watcher = contact.watch()) {
      Contact now = watcher.get();
      while (true) {
        switch (now) {
          case Contact.Answered(CuratorStatus.Following leader) -> {
            become(leader, context.log());
            now = watcher.get();
          }
          case Contact.Silent(long since) -> {
            Duration rest = PATIENCE.minusNanos(System.nanoTime() - since);
            if (rest.isPositive()) {
              now = next(watcher, rest).orElse(now);
            } else {
              become(
                  new CuratorStatus.Campaigning(
                      "no curator at %s has named a leader for %d s"
                          .formatted(
                              curators.stream()
                                  .map(NodeEndpoint::address)
                                  .map(HostPort::of)
                                  .collect(Collectors.joining(", ")),
                              PATIENCE.toSeconds())),
                  context.log());
              now = watcher.get(Contact.Answered.class::isInstance);
            }
          }
        }
      }
    }
  }

  private static Optional<Contact> next(Watcher<Contact> watcher, Duration within)
      throws InterruptedException {
    try {
      return Optional.of(watcher.get(any -> true, within));
    } catch (TimeoutException none) {
      return Optional.empty();
    }
  }

  private void become(CuratorStatus next, Log log) {
    if (!status.peek().equals(Optional.of(next))) {
      log.info("Curator without records: %s.", next.describe());
      status.set(next);
    }
  }

  /** Takes each list by itself: one that is damaged or proves nothing keeps back no revocation. */
  void take(TrustLists lists, Log log) {
    take(
        "proof of the newest CA",
        () ->
            trust.succeed(
                lists.getCaSuccessionList().stream()
                    .map(der -> Pem.certificate(der.toByteArray()))
                    .toList()),
        log);
    take(
        "revocation list",
        () -> trust.revokeNewer(Crl.parse(lists.getRevocations().toByteArray())),
        log);
    take("list of trusted keys", () -> trust.trust(lists.getTrustedKeys()), log);
    if (lists.hasOperators()) {
      take("list of operators", () -> trust.admit(lists.getOperators()), log);
    }
  }

  private static void take(String what, Runnable list, Log log) {
    try {
      list.run();
    } catch (PkiException | IllegalArgumentException damaged) {
      log.error("This node keeps its former %s: %s.", what, damaged.getMessage());
    }
  }

  X509Certificate renew() throws InterruptedException {
    NodeCredentials present = credentials();
    X509Certificate certificate = MembershipCalls.renew(leader(), present);
    try {
      // A new CA may have been adopted during the call.
      credentials.updateAndGet(now -> adopting(now).renewed(certificate));
    } catch (PkiException foreign) {
      throw new CuratorException(
          "the leader sent another certificate than that of %s: %s"
              .formatted(present.id(), foreign.getMessage()),
          foreign);
    }
    return certificate;
  }

  Secret clusterUnlockKey() throws InterruptedException {
    return MembershipCalls.clusterUnlockKey(leader(), credentials());
  }

  private Channel leader() {
    LeaderConnection present = connection;
    if (present == null) {
      throw new CuratorException("this node does not look for the leader now; try again later");
    }
    return present.channel();
  }
}
