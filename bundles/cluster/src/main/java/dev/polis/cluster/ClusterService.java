package dev.polis.cluster;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.cluster.DisownedException;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.files.Stored;
import dev.polis.handover.HandOverException;
import dev.polis.handover.OrganState;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.RpcRevocations;
import dev.polis.supervision.AnyChange;
import dev.polis.supervision.Context;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.storage.EnrolmentJournal;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/** Runs the enrolment once and publishes the state of the node. */
final class ClusterService implements ClusterManager {

  // The names of the values that one instance passes to the next.
  private static final String CREDENTIALS = "credentials";
  private static final String STATE = "cluster-state";
  private static final String REASON = "reason-of-state";
  private static final String LOCAL_CONSENSUS = "local-consensus";

  private static final Set<ClusterState> DECIDED =
      Set.of(ClusterState.HOME, ClusterState.DISOWNING);

  private final EnrolmentOrgans organs;
  private final EnrolmentMachine machine;
  private final NodeParametersLoader parameters;
  private final BootstrapFlow bootstrap;
  private final RegisterFlow register;
  private final JoinFlow join;
  private final EnrolmentSteps steps;
  private final MutableValue<ClusterStatus> status;
  private final ReentrantLock charge = new ReentrantLock();
  private boolean gave; // guarded by charge
  private CredentialRenewal renewal; // null until this node is a member; guarded by charge

  /** Creates a service, which continues from the state of another instance if there is one. */
  ClusterService(
      EnrolmentOrgans organs,
      EnrolmentMachine machine,
      NodeParametersLoader parameters,
      BootstrapFlow bootstrap,
      RegisterFlow register,
      JoinFlow join,
      EnrolmentSteps steps,
      OrganState taken) {
    this.organs = organs;
    this.machine = machine;
    this.parameters = parameters;
    this.bootstrap = bootstrap;
    this.register = register;
    this.join = join;
    this.steps = steps;
    this.status =
        new MutableValue<>(
            taken
                .find(CREDENTIALS, NodeCredentials.class)
                .<ClusterStatus>map(credentials -> member(taken, credentials))
                .orElseGet(() -> stranger(taken)));
    if (!taken.isEmpty()) {
      machine.goOn("another instance of the cluster manager has enrolled this node");
    }
  }

  private static ClusterSnapshot stranger(OrganState taken) {
    return taken.isEmpty()
        ? ClusterSnapshot.outside(ClusterState.UNKNOWN, "the cluster manager has just started")
        : ClusterSnapshot.outside(
            taken.require(STATE, ClusterState.class), taken.require(REASON, String.class));
  }

  private ClusterSnapshot member(OrganState taken, NodeCredentials credentials) {
    return ClusterSnapshot.member(
        taken.require(STATE, ClusterState.class),
        taken.require(REASON, String.class),
        // An instance of a former version runs consensus on each node.
        organs.membership(credentials, taken.find(LOCAL_CONSENSUS, Boolean.class).orElse(true)));
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

  /** Enrols the node, then follows consensus, as a supervised task. */
  void run(Context context) throws InterruptedException {
    Log log = context.log();
    if (isDisowned()) {
      // Another instance has ended the membership.
      context.healthy();
      context.done();
      return;
    }
    try {
      NodeCredentials credentials = member(context, log);
      CredentialRenewal begun =
          new CredentialRenewal(organs, credentials, this::renewed, InstantSource.system());
      renewal(begun);
      context.run("renewal", begun::run);
      context.run("revocations", child -> organs.revocations().follow(organs.rpc(), child));
      context.run("directory", this::followDirectory);
      AnyChange.follow(
          context, Map.of("consensus", organs.consensus().status()), this::followLocalConsensus);
      context.healthy();
    } catch (InterruptedException | CancellationException e) {
      // A call on its context tells the manager that its subtree stops, before the manager itself
      // is cancelled.
      throw e;
    } catch (RuntimeException e) {
      if (context.cancelled()) {
        // A stop during the enrolment, because other organs stop first, is no failure.
        throw e;
      }
      giveUp(e, log);
      context.healthy();
      context.done();
      return;
    }
    followConsensus(log);
  }

  /** Returns the node's credentials, and first enrols a node that is no member. */
  private NodeCredentials member(Context context, Log log) throws InterruptedException {
    Optional<NodeCredentials> taken = status.peek().flatMap(ClusterStatus::credentials);
    if (taken.isPresent()) {
      log.info("continuing as a member, from another instance of the cluster manager");
      followStanding(context, taken.get());
      return taken.get();
    }
    machine.start();
    Enrolled enrolled = enrol();
    NodeCredentials credentials = enrolled.credentials();
    // Before the wait for a leader, which answers no node that it has removed.
    followStanding(context, credentials);
    organs.serve(credentials, enrolled.revocations(), enrolled.curators(), steps);
    machine.transition(EnrolmentPhase.RUNNING, "this node is a member");
    home(credentials, enrolled.curators().isEmpty());
    log.info("Cluster enrolment done.");
    return credentials;
  }

  private void followStanding(Context context, NodeCredentials first) {
    context.run(
        "standing",
        new Disowning(
                organs,
                () -> status.peek().flatMap(ClusterStatus::credentials).orElse(first),
                this::disowned,
                InstantSource.system())
            ::run);
  }

  private boolean isDisowned() {
    return status.peek().orElseThrow().state() == ClusterState.DISOWNING;
  }

  /**
   * Ends the membership of this node. A node that is not HOME yet ends with a fatal error, as each
   * later start of it does.
   */
  private void disowned(String reason) throws InterruptedException {
    charge.lockInterruptibly();
    try {
      if (gave) {
        return; // The next instance watches the same list.
      }
      boolean wasHome = status.peek().orElseThrow().credentials().isPresent();
      if (renewal != null) {
        renewal.hold();
      }
      status.set(ClusterSnapshot.outside(ClusterState.DISOWNING, reason));
      if (!wasHome) {
        organs.boot().fatal("cluster", disownedException(reason));
        return;
      }
      organs.rpc().forget();
      organs.curator().leave();
      organs
          .boot()
          .home("this node is DISOWNING: %s\nwhat to do: %s".formatted(reason, Disowning.REMEDY));
    } finally {
      charge.unlock();
    }
  }

  private static DisownedException disownedException(String reason) {
    return new DisownedException(reason + "; " + Disowning.REMEDY);
  }

  private void renewal(CredentialRenewal begun) throws InterruptedException {
    charge.lockInterruptibly();
    try {
      renewal = begun;
      if (gave) {
        begun.hold();
      }
    } finally {
      charge.unlock();
    }
  }

  // ---- hand-over between instances

  /**
   * Passes the membership to another instance, but no running enrolment: that writes its journal
   * step by step, and ends in this instance.
   */
  OrganState give() throws InterruptedException {
    if (machine.phase() != EnrolmentPhase.RUNNING) {
      throw new HandOverException(
          "this node has not finished its enrolment (phase %s); wait until the node is HOME"
              .formatted(machine.phase()));
    }
    charge.lockInterruptibly();
    try {
      if (renewal != null) {
        renewal.hold();
      }
      gave = true;
      ClusterStatus now = status.peek().orElseThrow();
      return OrganState.NONE
          .with(CREDENTIALS, now.credentials())
          .with(STATE, now.state())
          .with(LOCAL_CONSENSUS, now.hasLocalConsensus())
          .with(REASON, now.reason());
    } finally {
      charge.unlock();
    }
  }

  void resume(OrganState state) {
    charge.lock();
    try {
      gave = false;
      state
          .find(CREDENTIALS, NodeCredentials.class)
          .ifPresent(credentials -> status.set(member(state, credentials)));
      if (renewal != null && !isDisowned()) {
        renewal.goOn(status.peek().flatMap(ClusterStatus::credentials).orElseThrow());
      }
    } finally {
      charge.unlock();
    }
  }

  /**
   * Holds a member that serves nothing yet.
   *
   * @param revocations the list of revoked certificates before the curator answers
   * @param curators those to follow; empty if this node keeps the records itself
   */
  private record Enrolled(
      NodeCredentials credentials, RpcRevocations revocations, Set<NodeEndpoint> curators) {}

  private Enrolled enrol() throws InterruptedException {
    Optional<String> removed = organs.removal().read();
    if (removed.isPresent()) {
      Disowning.eraseKeys(organs, steps.log());
      throw disownedException(removed.get());
    }
    return switch (organs.storage().sealedConfiguration().read()) {
      case Stored.Present<SealedConfiguration>(var path, var sealed) -> returned(sealed);
      case Stored.None<SealedConfiguration> none -> create();
      case Stored.Corrupted<SealedConfiguration>(var path, var reason) ->
          throw new EnrolmentException(
              "the sealed configuration %s is corrupted: %s. This node was a member; the node does"
                      .formatted(path, reason)
                  + " not enrol it again, because that would make its volume unreadable; restore"
                  + " the file from a copy");
      case Stored.Unreadable<SealedConfiguration>(var path, var reason, var cause) -> {
        Optional<SealedConfiguration> recovered = join.recovered();
        if (recovered.isPresent()) {
          yield returned(recovered.get());
        }
        throw new EnrolmentException(
            "the node cannot read the sealed configuration %s: %s".formatted(path, reason), cause);
      }
    };
  }

  private Enrolled returned(SealedConfiguration sealed) throws InterruptedException {
    JoinFlow.Joined joined = comeBack(sealed);
    return new Enrolled(
        joined.credentials(),
        organs.revocations().read(joined.credentials().ca()),
        joined.curators());
  }

  private JoinFlow.Joined comeBack(SealedConfiguration sealed) throws InterruptedException {
    machine.transition(EnrolmentPhase.JOINING, "there is a sealed configuration");
    if (parameters.reportUnread()) {
      steps.step("node parameters", wait -> "not read, because this node is already a member");
    }
    if (!(organs.storage().enrolmentJournal().read() instanceof Stored.None<EnrolmentJournal>)) {
      steps.step(
          "enrolment journal erased",
          wait -> {
            organs.storage().enrolmentJournal().erase();
            return "the last enrolment was complete";
          });
    }
    return join.run(sealed);
  }

  private Enrolled create() throws InterruptedException {
    NodeParametersLoader.Loaded loaded = steps.step("node parameters", wait -> parameters.load());
    NodeParameters given = loaded.parameters();
    if (given.hasNetworkConfig()) {
      steps.step("network configuration", wait -> organs.configure(given.getNetworkConfig()));
    }
    if (given.getTimeServerCount() > 0 || organs.keepsClock()) {
      steps.step("time servers", wait -> organs.keepClock(given.getTimeServerList()));
    }
    if (given.hasClusterRegister()) {
      machine.transition(EnrolmentPhase.REGISTERING, "cluster_register in " + loaded.source());
      return new Enrolled(
          register.run(given.getClusterRegister(), this::outside),
          new RpcRevocations.Unknown("this node has joined, and its leader has not sent the list"),
          CuratorAddresses.of(given.getClusterRegister().getClusterDirectory()));
    }
    machine.transition(EnrolmentPhase.CREATING_CLUSTER, "cluster_bootstrap in " + loaded.source());
    return new Enrolled(
        bootstrap.run(given.getClusterBootstrap()), new RpcRevocations.None(), Set.of());
  }

  private void outside(ClusterState state, String reason) {
    status.set(ClusterSnapshot.outside(state, reason));
  }

  private void home(NodeCredentials credentials, boolean localConsensus) {
    status.set(
        ClusterSnapshot.member(
            ClusterState.HOME,
            ClusterState.HOME.meaning(),
            organs.membership(credentials, localConsensus)));
    organs.boot().home(organs.summary(credentials));
  }

  private void followDirectory(Context context) throws InterruptedException {
    new DirectoryFile(
            organs.storage().root().esp().clusterDirectory(),
            () -> status.peek().flatMap(ClusterStatus::credentials).orElseThrow(),
            organs::address)
        .follow(organs.network().awaitAddress(), context);
  }

  /** Publishes that this node runs a member of consensus, or none any more. */
  private void followLocalConsensus() {
    ConsensusStatus now = organs.consensus().status().peek().orElseThrow();
    charge.lock();
    try {
      boolean before = status.peek().orElseThrow().hasLocalConsensus();
      // A member that starts again keeps its place.
      boolean local =
          switch (now) {
            case ConsensusStatus.Running _ -> true;
            case ConsensusStatus.Stopped _ -> false;
            case ConsensusStatus.Starting _, ConsensusStatus.Failed _ -> before;
          };
      if (local != before && !gave) {
        localConsensus(local);
      }
    } finally {
      charge.unlock();
    }
  }

  private void localConsensus(boolean local) {
    status.update(
        now ->
            ClusterSnapshot.member(
                now.orElseThrow().state(),
                now.orElseThrow().reason(),
                organs.membership(now.orElseThrow().credentials().orElseThrow(), local)));
  }

  private void renewed(NodeCredentials credentials) {
    status.update(
        before -> {
          ClusterStatus now = before.orElseThrow();
          return ClusterSnapshot.member(
              now.state(), now.reason(), organs.membership(credentials, now.hasLocalConsensus()));
        });
  }

  private void giveUp(RuntimeException failure, Log log) {
    String reason = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    // The crash record has the place in the code.
    log.error("Cluster enrolment failed: %s", reason);
    if (machine.phase() != EnrolmentPhase.FAILED) {
      machine.fail(reason);
    }
    status.set(
        failure instanceof DisownedException
            ? ClusterSnapshot.outside(ClusterState.DISOWNING, reason)
            : ClusterSnapshot.outside(ClusterState.UNKNOWN, "enrolment failed: " + reason));
    organs.boot().fatal("cluster", failure);
  }

  /**
   * Publishes HOME while the curator knows a leader, and SPLIT otherwise. Only a curator with a
   * renewed lease in consensus knows a leader.
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

  private void become(ClusterState next, CuratorStatus curator, Log log)
      throws InterruptedException {
    charge.lockInterruptibly();
    try {
      if (!gave) {
        change(next, curator, log);
      }
    } finally {
      charge.unlock();
    }
  }

  private void change(ClusterState next, CuratorStatus curator, Log log) {
    ClusterState before = status.peek().orElseThrow().state();
    if (before == next || before == ClusterState.DISOWNING) {
      return;
    }
    log.info("cluster state %s -> %s: %s", before, next, curator.describe());
    status.update(
        now ->
            ClusterSnapshot.member(
                next,
                next.meaning() + "; the curator is " + curator.describe(),
                organs.membership(
                    now.orElseThrow().credentials().orElseThrow(),
                    now.orElseThrow().hasLocalConsensus())));
  }
}
