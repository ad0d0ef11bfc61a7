package dev.polis.curator.leader;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Watcher;
import dev.polis.curator.record.HeartbeatMonitor;
import dev.polis.curator.record.RecordKeys;
import dev.polis.etcd.Election;
import dev.polis.etcd.ElectionHandOver;
import dev.polis.etcd.ElectionOptions;
import dev.polis.etcd.ElectionState;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValue;
import dev.polis.handover.OrganState;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.stored.LeaderElectionValue;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Campaigns for leadership, and opens the gate for calls while this node leads. It is a supervised
 * runnable.
 *
 * <p>It can pass its place in the election to another instance in this process, and take over such
 * a place. Afterwards, its published status stays.
 */
public final class CuratorElection {

  /**
   * The time to take over a place before the status changes. A take-over takes milliseconds; this
   * is shorter than the limit of a hand-over.
   */
  public static final Duration TAKE_UP = Duration.ofSeconds(3);

  // The names of the values that one instance passes to the next.
  private static final String PLACE = "place-in-election";
  private static final String TOKEN = "fencing-token";
  private static final String LEADER_SINCE = "leader-since";
  private static final String HEARTBEATS = "heartbeats";
  private static final String PROCESSES = "processes";

  /** Decides whether the election runs. */
  private enum Order {
    STAND,
    HOLD
  }

  private final Supplier<EtcdClient> connect;
  private final NodeId self;
  private final Duration ttl;
  private final AdvertisedAddress address;
  private final LeaderGate gate;
  private final MutableValue<CuratorStatus> status;
  private final LongSupplier nanoTime;

  private final MutableValue<Order> order = new MutableValue<>(Order.HOLD);
  private final CountDownLatch connected = new CountDownLatch(1);
  // Guarded by this.
  private OrganState next = OrganState.NONE;
  private Election standing; // null while this node does not stand
  private Election given; // the last election whose place this instance passed on; null before
  private Election standBy; // reads the locks before there is a place; null if not needed
  private LeaderTerm term; // null while this node does not lead

  public CuratorElection(
      Supplier<EtcdClient> connect,
      NodeId self,
      Duration ttl,
      AdvertisedAddress address,
      LeaderGate gate,
      MutableValue<CuratorStatus> status,
      LongSupplier nanoTime) {
    this.connect = connect;
    this.self = self;
    this.ttl = ttl;
    this.address = address;
    this.gate = gate;
    this.status = status;
    this.nanoTime = nanoTime;
  }

  /** Returns whether the instance that passed on these values led. */
  public static boolean led(OrganState given) {
    return given.find(TOKEN, Long.class).isPresent();
  }

  /**
   * Starts to stand for election.
   *
   * @param taken the values from another instance; empty to begin at the end of the queue
   */
  public synchronized void stand(OrganState taken) {
    next = taken;
    gate.close();
    order.set(Order.STAND);
  }

  /** Waits a short time for etcd's answer, so that a take-over has no delay. */
  public void awaitConnected() throws InterruptedException {
    connected.await(TAKE_UP.toMillis(), TimeUnit.MILLISECONDS);
  }

  /**
   * Ends the writes of this leadership's calls, leaves the election, and returns the place.
   *
   * @throws InterruptedException if interrupted before; then the election continues
   */
  public OrganState give() throws InterruptedException {
    Optional<LeaderTerm> held = term();
    gate.close();
    try {
      if (held.isPresent()) {
        held.get().finish();
      }
    } catch (InterruptedException hurried) {
      held.ifPresent(gate::open);
      throw hurried;
    }
    order.set(Order.HOLD);
    Optional<Election> left = markGiven();
    OrganState state = OrganState.NONE.with(PLACE, left.flatMap(Election::handOver));
    return held.map(led -> withLeadership(state, led)).orElse(state);
  }

  /**
   * Records that this instance has left the present election for ever, even if the place returns at
   * once.
   */
  private synchronized Optional<Election> markGiven() {
    given = standing;
    return standing();
  }

  private synchronized boolean wasGiven(Election election) {
    return given == election;
  }

  private static OrganState withLeadership(OrganState state, LeaderTerm led) {
    return state
        .with(TOKEN, led.fencingToken())
        .with(LEADER_SINCE, led.heartbeats().leaderSince())
        .with(HEARTBEATS, led.heartbeats().heard())
        .with(PROCESSES, led.heartbeats().processes());
  }

  @SuppressWarnings("unchecked") // the values of withLeadership()
  private HeartbeatMonitor heartbeats(OrganState taken) {
    return taken
        .find(LEADER_SINCE, Long.class)
        .map(
            since ->
                new HeartbeatMonitor(
                    nanoTime,
                    since,
                    (Map<String, Long>) taken.require(HEARTBEATS, Map.class),
                    // An earlier release gives none.
                    (Map<String, List<String>>) taken.find(PROCESSES, Map.class).orElse(Map.of())))
        .orElseGet(() -> new HeartbeatMonitor(nanoTime));
  }

  /** Returns the term of this node while it leads. */
  public synchronized Optional<LeaderTerm> term() {
    return Optional.ofNullable(term);
  }

  private synchronized Optional<Election> standing() {
    return Optional.ofNullable(standing);
  }

  private boolean holds() {
    return order.peek().orElseThrow() == Order.HOLD;
  }

  /** Campaigns until it is cancelled. */
  public void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get();
        Watcher<Order> orders = order.watch()) {
      context.run("address", this::followAddress);
      context.healthy();
      if (holds()) {
        prepare(etcd, context.log());
      }
      while (true) {
        orders.get(Order.STAND::equals);
        campaign(etcd, context.log());
      }
    } finally {
      standBy().ifPresent(Election::close);
      if (!holds()) {
        gate.close();
        status.set(new CuratorStatus.Campaigning("this curator has left the election"));
      }
    }
  }

  /** Opens the connection, and reads the locks before there is a place to take over. */
  private void prepare(EtcdClient etcd, Log log) throws InterruptedException {
    try {
      Election election = etcd.election(options(new ElectionOptions.StandBy()));
      synchronized (this) {
        standBy = election;
      }
      if (!election.awaitReady(TAKE_UP)) {
        log.warning(
            "Curator has not read the locks of the election within %d s: %s",
            TAKE_UP.toSeconds(), election.state().peek().orElseThrow());
      }
    } finally {
      connected.countDown();
    }
  }

  private synchronized Optional<Election> standBy() {
    return Optional.ofNullable(standBy);
  }

  private void campaign(EtcdClient etcd, Log log) throws InterruptedException {
    OrganState taken = begin(etcd);
    try (Election election = standing().orElseThrow();
        Watcher<ElectionState> watcher = election.state().watch()) {
      follow(etcd, taken, election, watcher, log);
    } finally {
      synchronized (this) {
        standing = null;
      }
    }
  }

  /** Begins to stand, in a taken-over place if there is one. */
  private synchronized OrganState begin(EtcdClient etcd) {
    OrganState taken = next;
    next = OrganState.NONE;
    Optional<Election> prepared = standBy();
    standBy = null;
    standing = candidate(etcd, prepared, taken.find(PLACE, ElectionHandOver.class));
    return taken;
  }

  private Election candidate(
      EtcdClient etcd, Optional<Election> prepared, Optional<ElectionHandOver> place) {
    if (prepared.isPresent() && place.isPresent()) {
      prepared.get().takeUp(place.get());
      return prepared.get();
    }
    prepared.ifPresent(Election::close);
    return etcd.election(
        options(
            place
                .<ElectionOptions.Entry>map(ElectionOptions.TakeUp::new)
                .orElseGet(ElectionOptions.AtTheEnd::new)));
  }

  private ElectionOptions options(ElectionOptions.Entry entry) {
    return new ElectionOptions(
        RecordKeys.LEADER,
        lockValue(),
        ttl,
        lock -> self.text().equals(holder(lock)),
        entry,
        CuratorElection::hasEnded);
  }

  private byte[] lockValue() {
    return LeaderElectionValue.newBuilder()
        .setNodeId(self.text())
        .setTtl(ttl.toSeconds())
        .setExternalAddress(address.host())
        .setCuratorPort(address.port())
        .build()
        .toByteArray();
  }

  /** Returns whether the curator that a lock names accepts no connection. */
  private static boolean hasEnded(KeyValue lock) {
    return following(lock) instanceof CuratorStatus.Following(NodeId _, String host, int port)
        && !host.isEmpty()
        && LeaderProbe.refused(host, port);
  }

  /** Announces each later address of this node, so that clients follow it at once. */
  private void followAddress(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<NetworkStatus> changes = address.changes()) {
      byte[] announced = lockValue();
      while (true) {
        changes.get();
        byte[] now = lockValue();
        if (!Arrays.equals(now, announced)) {
          announced = now;
          standing().ifPresent(election -> election.announce(now));
          // Wakes the streams of this node, which read the address when they send.
          status.update(Optional::orElseThrow);
        }
      }
    }
  }

  /** Returns the node id in a lock; an empty text if the lock has none. */
  private static String holder(KeyValue lock) {
    return value(lock).map(LeaderElectionValue::getNodeId).orElse("");
  }

  private static Optional<LeaderElectionValue> value(KeyValue lock) {
    try {
      return Optional.of(LeaderElectionValue.parseFrom(lock.value()));
    } catch (InvalidProtocolBufferException e) {
      return Optional.empty();
    }
  }

  /**
   * Returns the status of a follower of this lock's owner. A lock that does not name a node has no
   * known holder; the next election begins when it is deleted or expires.
   */
  private static CuratorStatus following(KeyValue lock) {
    return value(lock)
        .filter(value -> NodeId.matches(value.getNodeId()))
        .<CuratorStatus>map(
            value ->
                new CuratorStatus.Following(
                    NodeId.parse(value.getNodeId()),
                    AdvertisedAddress.checked(value.getExternalAddress()),
                    value.getCuratorPort()))
        .orElseGet(
            () ->
                new CuratorStatus.Campaigning(
                    "the lock %s does not name the leading node; wait until its lease expires, or delete it"
                        .formatted(lock.key())));
  }

  private void follow(
      EtcdClient etcd, OrganState taken, Election election, Watcher<ElectionState> watcher, Log log)
      throws InterruptedException {
    HeartbeatMonitor heartbeats = heartbeats(taken);
    ElectionState state =
        taken.find(PLACE, ElectionHandOver.class).isPresent()
            ? awaitTakeUp(watcher)
            : watcher.get();
    while (true) {
      switch (state) {
        case ElectionState.Leader leader -> {
          state = lead(etcd, leader, heartbeats, watcher, log);
          heartbeats = new HeartbeatMonitor(nanoTime);
        }
        case ElectionState.Follower(KeyValue lock) -> {
          CuratorStatus following = following(lock);
          log.info("Curator does not lead: %s.", following.describe());
          status.set(following);
          state = watcher.get();
        }
        case ElectionState.Neither _ when wasGiven(election) -> {
          return;
        }
        case ElectionState.Neither(String reason) -> {
          status.set(new CuratorStatus.Campaigning(reason));
          state = watcher.get();
        }
      }
    }
  }

  /**
   * Returns the state after the next instance has taken over the place, or after {@link #TAKE_UP}.
   */
  private static ElectionState awaitTakeUp(Watcher<ElectionState> watcher)
      throws InterruptedException {
    try {
      return watcher.get(state -> !(state instanceof ElectionState.Neither), TAKE_UP);
    } catch (TimeoutException tooLong) {
      return new ElectionState.Neither(
          "the next instance did not take over the place in the election");
    }
  }

  private ElectionState lead(
      EtcdClient etcd,
      ElectionState.Leader leader,
      HeartbeatMonitor heartbeats,
      Watcher<ElectionState> watcher,
      Log log)
      throws InterruptedException {
    try (LeaderTerm begun = new LeaderTerm(etcd, leader, log, heartbeats)) {
      log.info("Curator leads. Its fencing token is %d.", begun.fencingToken());
      open(begun);
      CuratorStatus leading = new CuratorStatus.Leading(begun.fencingToken());
      if (!status.peek().equals(Optional.of(leading))) {
        status.set(leading);
      }
      try {
        return watcher.get();
      } finally {
        // Before the close of the term, so that new calls wait for the next leadership.
        close();
      }
    } finally {
      log.info("Curator does not lead any more.");
    }
  }

  private synchronized void open(LeaderTerm begun) {
    term = begun;
    if (!holds()) {
      gate.open(begun);
    }
  }

  private synchronized void close() {
    term = null;
    gate.close();
  }
}
