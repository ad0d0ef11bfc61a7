package dev.polis.curator;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.etcd.Election;
import dev.polis.etcd.ElectionOptions;
import dev.polis.etcd.ElectionState;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.KeyValue;
import dev.polis.event.MutableValue;
import dev.polis.event.Watcher;
import dev.polis.logtree.Log;
import dev.polis.pki.NodeId;
import dev.polis.supervision.Context;
import dev.polis.wire.curator.stored.LeaderElectionValue;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Campaigns for leadership, and opens the gate for calls while this node leads. A supervised
 * runnable.
 */
final class CuratorElection {

  private final Supplier<EtcdClient> connect;
  private final NodeId self;
  private final Duration ttl;
  private final AdvertisedAddress address;
  private final LeaderGate gate;
  private final MutableValue<CuratorStatus> status;
  private final LongSupplier nanoTime;

  CuratorElection(
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

  /** Campaigns until cancelled. */
  void run(Context context) throws InterruptedException {
    try (EtcdClient etcd = connect.get();
        Election election = etcd.election(options());
        Watcher<ElectionState> watcher = election.state().watch()) {
      context.healthy();
      follow(etcd, watcher, context.log());
    } finally {
      gate.close();
      status.set(new CuratorStatus.Campaigning("this curator has stopped campaigning"));
    }
  }

  private ElectionOptions options() {
    byte[] value =
        LeaderElectionValue.newBuilder()
            .setNodeId(self.text())
            .setTtl(ttl.toSeconds())
            .setExternalAddress(address.host())
            .setCuratorPort(address.port())
            .build()
            .toByteArray();
    return ElectionOptions.of(RecordKeys.LEADER, value)
        .withTtl(ttl)
        .removing(lock -> self.text().equals(holder(lock)));
  }

  /** Returns the id of the node that holds a lock; empty text if the lock does not say. */
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
   * Returns which leader this curator follows. A lock that does not name a node has no known
   * holder; the next election begins when it is deleted or expires.
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
                    "the lock %s does not name the node that leads; wait until its lease expires, or delete it"
                        .formatted(lock.key())));
  }

  private void follow(EtcdClient etcd, Watcher<ElectionState> watcher, Log log)
      throws InterruptedException {
    ElectionState state = watcher.get();
    while (true) {
      state =
          switch (state) {
            case ElectionState.Leader leader -> lead(etcd, leader, watcher, log);
            case ElectionState.Follower(KeyValue lock) -> {
              CuratorStatus following = following(lock);
              log.info("Curator does not lead: %s.", following.describe());
              status.set(following);
              yield watcher.get();
            }
            case ElectionState.Neither(String reason) -> {
              status.set(new CuratorStatus.Campaigning(reason));
              yield watcher.get();
            }
          };
    }
  }

  private ElectionState lead(
      EtcdClient etcd, ElectionState.Leader leader, Watcher<ElectionState> watcher, Log log)
      throws InterruptedException {
    try (LeaderTerm term = new LeaderTerm(etcd, leader.fence(), log, nanoTime)) {
      log.info("Curator became leader. Its fencing token is %d.", term.fencingToken());
      gate.open(term);
      status.set(new CuratorStatus.Leading(term.fencingToken()));
      try {
        return watcher.get();
      } finally {
        // Before the term is closed, so that new calls wait for the next leadership.
        gate.close();
      }
    } finally {
      log.info("Curator is no longer the leader.");
    }
  }
}
