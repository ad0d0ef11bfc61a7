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
import dev.polis.base.values.Value;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Evaluates conditions; a condition of an absent organ does not hold. It is safe for any thread.
 */
final class DebugConditions {

  /** Finds the organs; each result is empty while the organ is absent. */
  interface Organs {
    /** Returns the network organ. */
    Optional<Network> network();

    /** Returns the storage organ. */
    Optional<Storage> storage();

    /** Returns the consensus organ. */
    Optional<Consensus> consensus();

    /** Returns the curator organ. */
    Optional<Curator> curator();

    /** Returns the cluster organ. */
    Optional<ClusterManager> cluster();
  }

  private final SortedMap<String, BooleanSupplier> conditions = new TreeMap<>();

  DebugConditions(Organs organs) {
    conditions.put(
        "IPAssigned",
        () -> is(organs.network(), Network::status, NetworkStatus.Up.class::isInstance));
    conditions.put(
        "DataAvailable",
        () -> is(organs.storage(), Storage::data, DataStatus.Mounted.class::isInstance));
    conditions.put(
        "ConsensusRunning",
        () -> is(organs.consensus(), Consensus::status, ConsensusStatus.Running.class::isInstance));
    conditions.put(
        "CuratorLeading",
        () -> is(organs.curator(), Curator::status, CuratorStatus.Leading.class::isInstance));
    conditions.put(
        "ClusterHome",
        () ->
            is(organs.cluster(), ClusterManager::status, now -> now.state() == ClusterState.HOME));
  }

  private static <O, S> boolean is(
      Optional<O> organ, Function<O, Value<S>> state, Predicate<S> wanted) {
    return organ.map(state).flatMap(Value::peek).filter(wanted).isPresent();
  }

  /** Returns whether a condition holds now; empty if there is no such condition. */
  Optional<Boolean> holds(String name) {
    return Optional.ofNullable(conditions.get(name)).map(BooleanSupplier::getAsBoolean);
  }

  /** Returns the present values of all conditions by name. */
  SortedMap<String, Boolean> all() {
    SortedMap<String, Boolean> all = new TreeMap<>();
    conditions.forEach((name, holds) -> all.put(name, holds.getAsBoolean()));
    return all;
  }
}
