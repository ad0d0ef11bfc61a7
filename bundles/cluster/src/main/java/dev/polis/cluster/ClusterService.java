package dev.polis.cluster;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.DisownedException;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.event.MutableValue;
import dev.polis.event.Value;
import dev.polis.event.Watcher;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.supervision.Context;
import dev.polis.wire.storage.EnrolmentJournal;
import java.time.InstantSource;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;

/** Runs the enrolment once and publishes where the node stands. */
final class ClusterService implements ClusterManager {

  private static final Set<ClusterState> DECIDED =
      Set.of(ClusterState.HOME, ClusterState.DISOWNING);

  private final EnrolmentOrgans organs;
  private final EnrolmentMachine machine;
  private final NodeParametersLoader parameters;
  private final BootstrapFlow bootstrap;
  private final JoinFlow join;
  private final EnrolmentSteps steps;
  private final MutableValue<ClusterStatus> status =
      new MutableValue<>(
          ClusterSnapshot.outside(ClusterState.UNKNOWN, "the cluster manager has just started"));

  ClusterService(
      EnrolmentOrgans organs,
      EnrolmentMachine machine,
      NodeParametersLoader parameters,
      BootstrapFlow bootstrap,
      JoinFlow join,
      EnrolmentSteps steps) {
    this.organs = organs;
    this.machine = machine;
    this.parameters = parameters;
    this.bootstrap = bootstrap;
    this.join = join;
    this.steps = steps;
  }

  @Override
  public Value<ClusterStatus> status() {
    return status;
  }

  @Override
  public ClusterStatus awaitHome() throws InterruptedException {
    return awaitHome(status, () -> machine.phase() == EnrolmentPhase.FAILED);
  }

  static ClusterStatus awaitHome(Value<ClusterStatus> status, BooleanSupplier failed)
      throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = status.watch()) {
      ClusterStatus decided =
          watcher.get(now -> DECIDED.contains(now.state()) || failed.getAsBoolean());
      if (decided.state() == ClusterState.DISOWNING) {
        throw new DisownedException(ClusterState.DISOWNING.meaning() + ": " + decided.reason());
      }
      if (decided.state() != ClusterState.HOME) {
        throw new EnrolmentException(decided.reason());
      }
      return decided;
    }
  }

  /** The runnable that enrols the node, then follows consensus. */
  void run(Context context) throws InterruptedException {
    Log log = context.log();
    try {
      machine.start();
      NodeCredentials credentials = enrol();
      organs.serve(credentials, steps);
      machine.transition(EnrolmentPhase.RUNNING, "this node is a member");
      home(credentials);
      log.info("Cluster enrolment done.");
      CredentialRenewal renewal =
          new CredentialRenewal(organs, credentials, this::renewed, InstantSource.system());
      context.run("renewal", renewal::run);
      context.healthy();
    } catch (InterruptedException | CancellationException e) {
      // A manager whose subtree is being stopped learns it from the calls of its context, before
      // its own turn to be cancelled comes.
      throw e;
    } catch (RuntimeException e) {
      if (context.cancelled()) {
        // A manager that is stopped on its way, with organs that go before it, has not failed.
        throw e;
      }
      giveUp(e, log);
      context.healthy();
      context.done();
      return;
    }
    followConsensus(log);
  }

  private NodeCredentials enrol() throws InterruptedException {
    return switch (organs.storage().sealedConfiguration().read()) {
      case Stored.Present<SealedConfiguration>(var path, var sealed) -> comeBack(sealed);
      case Stored.None<SealedConfiguration> none -> create();
      case Stored.Corrupted<SealedConfiguration>(var path, var reason) ->
          throw new EnrolmentException(
              "the sealed configuration %s is corrupted: %s. This node was a member; it is not"
                      .formatted(path, reason)
                  + " enrolled again, because that would make its volume unreadable. Restore the"
                  + " file from a copy");
      case Stored.Unreadable<SealedConfiguration>(var path, var reason, var cause) ->
          throw new EnrolmentException(
              "the sealed configuration %s cannot be read: %s".formatted(path, reason), cause);
    };
  }

  private NodeCredentials comeBack(SealedConfiguration sealed) throws InterruptedException {
    machine.transition(EnrolmentPhase.JOINING, "there is a sealed configuration");
    if (parameters.reportUnread()) {
      steps.step("node parameters", wait -> "not read, since this node is a member already");
    }
    if (!(organs.storage().enrolmentJournal().read() instanceof Stored.None<EnrolmentJournal>)) {
      steps.step(
          "enrolment journal erased",
          wait -> {
            organs.storage().enrolmentJournal().erase();
            return "the enrolment before was complete";
          });
    }
    return join.run(sealed);
  }

  private NodeCredentials create() throws InterruptedException {
    NodeParametersLoader.Loaded loaded = steps.step("node parameters", wait -> parameters.load());
    if (loaded.parameters().hasClusterRegister()) {
      throw new EnrolmentException(
          "node parameters %s ask to join an existing cluster (cluster_register), which this version"
                  .formatted(loaded.source())
              + " cannot do; use cluster_bootstrap to create a cluster of one node");
    }
    if (loaded.parameters().hasNetworkConfig()) {
      steps.step(
          "network configuration",
          wait -> organs.configure(loaded.parameters().getNetworkConfig()));
    }
    machine.transition(EnrolmentPhase.CREATING_CLUSTER, "cluster_bootstrap in " + loaded.source());
    return bootstrap.run(loaded.parameters().getClusterBootstrap());
  }

  private void home(NodeCredentials credentials) {
    status.set(
        ClusterSnapshot.member(
            ClusterState.HOME, ClusterState.HOME.meaning(), organs.membership(credentials)));
    organs.boot().home(organs.summary(credentials));
  }

  private void renewed(NodeCredentials credentials) {
    status.update(
        before -> {
          ClusterStatus now = before.orElseThrow();
          return ClusterSnapshot.member(now.state(), now.reason(), organs.membership(credentials));
        });
  }

  private void giveUp(RuntimeException failure, Log log) {
    String reason = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    // Where in the code is kept in the crash record.
    log.error("Cluster enrolment failed: %s", reason);
    if (machine.phase() != EnrolmentPhase.FAILED) {
      machine.fail(reason);
    }
    status.set(ClusterSnapshot.outside(ClusterState.UNKNOWN, "enrolment failed: " + reason));
    organs.boot().fatal("cluster", failure);
  }

  /**
   * HOME while the curator knows a leader, SPLIT while it does not: a leader is only known to those
   * whose lease consensus still answers.
   */
  private void followConsensus(Log log) throws InterruptedException {
    try (Watcher<CuratorStatus> watcher = organs.curator().status().watch()) {
      while (true) {
        CuratorStatus curator = watcher.get();
        switch (curator) {
          case CuratorStatus.Leading leading -> become(ClusterState.HOME, curator, log);
          case CuratorStatus.Following following -> become(ClusterState.HOME, curator, log);
          case CuratorStatus.Campaigning campaigning -> become(ClusterState.SPLIT, curator, log);
          case CuratorStatus.Idle idle -> become(ClusterState.SPLIT, curator, log);
        }
      }
    }
  }

  private void become(ClusterState next, CuratorStatus curator, Log log) {
    ClusterState before = status.peek().orElseThrow().state();
    if (before == next) {
      return;
    }
    log.info("cluster state %s -> %s: %s", before, next, curator.describe());
    status.update(
        now ->
            ClusterSnapshot.member(
                next,
                next.meaning() + "; the curator is " + curator.describe(),
                organs.membership(now.orElseThrow().credentials().orElseThrow())));
  }
}
