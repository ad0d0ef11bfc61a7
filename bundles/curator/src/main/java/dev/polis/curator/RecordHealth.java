package dev.polis.curator;

import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.RecordKeys;
import dev.polis.curator.record.RecordSnapshot;
import dev.polis.curator.record.RecordState;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.health.HealthCondition;
import java.util.List;
import java.util.Optional;

/** Reports the records of the cluster that a leader finds damaged or missing. */
final class RecordHealth {
  private static final String DAMAGED = "record-damaged";
  private static final String MISSING = "record-missing";

  private RecordHealth() {}

  /**
   * Checks the records in a leader's memory; returns empty if it has listed none yet, or all are
   * good.
   *
   * @param self the id of the leader's own node, which needs its record to report and to have roles
   */
  static Optional<HealthCondition> of(RecordSnapshot records, String self) {
    if (records.version() == RecordSnapshot.EMPTY.version()) {
      return Optional.empty();
    }
    List<String> damaged =
        records.keys().stream()
            .filter(key -> records.state(key) instanceof RecordState.Damaged)
            .toList();
    if (!damaged.isEmpty()) {
      return Optional.of(damaged(records, damaged));
    }
    List<String> missing =
        List.of(RecordKeys.node(self), RecordKeys.CLUSTER_CONFIGURATION).stream()
            .filter(key -> records.state(key) instanceof RecordState.Absent)
            .toList();
    return missing.size() > 1
        ? Optional.of(gone(records))
        : missing.stream().findFirst().map(RecordHealth::missing);
  }

  private static HealthCondition gone(RecordSnapshot records) {
    return HealthCondition.down(
            MISSING,
            "a client has removed the cluster's records from etcd: %d are left, without the configuration and this node's own"
                .formatted(records.keys().size()),
            "find that client, which has the key of etcd's user root; " + CuratorPki.RESTORE)
        .dueTo("curator");
  }

  private static HealthCondition damaged(RecordSnapshot records, List<String> keys) {
    String first = stored(keys.getFirst());
    long before = records.state(keys.getFirst()).revision() - 1;
    return HealthCondition.degraded(
        DAMAGED,
        "the curator cannot read %d of the cluster's records in etcd; the first is %s, written at revision %d"
            .formatted(keys.size(), first, before + 1),
        ("find the program that also writes into etcd; until etcd compacts its history, etcdctl get --rev=%d --print-value-only %s"
                + " | head -c -1 | etcdctl put %s brings the record back (polisctl etcd status prints the options of etcdctl)")
            .formatted(before, first, first));
  }

  private static HealthCondition missing(String key) {
    return HealthCondition.degraded(
        MISSING,
        "the record %s is missing in etcd, although this node leads its cluster"
            .formatted(stored(key)),
        ("find the program that removed it; until etcd compacts its history, etcdctl get --rev=REVISION --print-value-only %1$s"
                + " | head -c -1 | etcdctl put %1$s brings it back (polisctl etcd status prints the present revision and the options of etcdctl)")
            .formatted(stored(key)));
  }

  /** Returns a key in the form of etcdctl. */
  private static String stored(String key) {
    return EtcdNamespace.of(CuratorService.USER).prefix() + key;
  }
}
