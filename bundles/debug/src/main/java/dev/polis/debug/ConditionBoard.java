package dev.polis.debug;

import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterState;
import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.Storage;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/** The conditions one can ask for, each true only while it is true. Safe for any thread. */
final class ConditionBoard {
  private final AbsentOrgan<Network> network = new AbsentOrgan<>();
  private final AbsentOrgan<Storage> storage = new AbsentOrgan<>();
  private final AbsentOrgan<Consensus> consensus = new AbsentOrgan<>();
  private final AbsentOrgan<Curator> curator = new AbsentOrgan<>();
  private final AbsentOrgan<ClusterManager> cluster = new AbsentOrgan<>();
  private final SortedMap<String, BooleanSupplier> conditions = new TreeMap<>();

  ConditionBoard() {
    conditions.put(
        "IPAssigned", () -> network.is(Network::status, NetworkStatus.Up.class::isInstance));
    conditions.put(
        "DataAvailable", () -> storage.is(Storage::data, DataStatus.Mounted.class::isInstance));
    conditions.put(
        "ConsensusRunning",
        () -> consensus.is(Consensus::status, ConsensusStatus.Running.class::isInstance));
    conditions.put(
        "CuratorLeading",
        () -> curator.is(Curator::status, CuratorStatus.Leading.class::isInstance));
    conditions.put(
        "ClusterHome",
        () -> cluster.is(ClusterManager::status, status -> status.state() == ClusterState.HOME));
  }

  /** Whether a condition holds now; empty if there is no such condition. */
  Optional<Boolean> holds(String name) {
    return Optional.ofNullable(conditions.get(name)).map(BooleanSupplier::getAsBoolean);
  }

  SortedSet<String> names() {
    return new TreeSet<>(conditions.keySet());
  }

  AbsentOrgan<Network> network() {
    return network;
  }

  AbsentOrgan<Storage> storage() {
    return storage;
  }

  AbsentOrgan<Consensus> consensus() {
    return consensus;
  }

  AbsentOrgan<Curator> curator() {
    return curator;
  }

  AbsentOrgan<ClusterManager> cluster() {
    return cluster;
  }
}
