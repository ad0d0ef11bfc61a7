package dev.polis.consensus;

import dev.polis.base.config.SettingCheck;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Holds the checked configuration.
 *
 * @param etcd the path of etcd or of its directory; blank to search PATH
 * @param clientPort the port for clients
 * @param peerPort the port for other members
 * @param heartbeatMillis the time between two heartbeats of the leader, in a cluster of several
 *     members
 * @param electionMillis the time without a heartbeat before an election
 * @param ready the time for etcd to become ready
 * @param quotaBytes the size of the database at which etcd refuses writes
 * @param compactionMode {@code periodic} or {@code revision}
 * @param compactionRetention the kept history, in the form of the mode
 * @param snapshotCount the transactions between two raft snapshots
 * @param maintenance the time between two checks of the database
 * @param defragmentPercent the free part of the database file at which the node defragments it
 * @param recovery the order of a new cluster, if there is one
 */
record ConsensusSettings(
    String etcd,
    int clientPort,
    int peerPort,
    int heartbeatMillis,
    int electionMillis,
    Duration ready,
    long quotaBytes,
    String compactionMode,
    String compactionRetention,
    int snapshotCount,
    Duration maintenance,
    int defragmentPercent,
    RecoveryOrder recovery) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.consensus");
  private static final String PERIODIC = "periodic";
  private static final String REVISION = "revision";

  // etcd refuses more than 50 s, and fewer than five heartbeats for an election.
  private static final int MAX_ELECTION_MILLIS = 50_000;
  private static final int HEARTBEATS_PER_ELECTION = 5;
  // The file of an empty store has 20 KiB; with a quota below a few MiB etcd is full soon after its
  // start.
  private static final long MIN_QUOTA = 16L << 20;
  private static final long MAX_QUOTA = 8L << 30;
  // A snapshot has the whole database: with a lower count etcd does little else, and a higher one
  // fills the memory.
  private static final int MIN_SNAPSHOT_COUNT = 100;
  private static final int MAX_SNAPSHOT_COUNT = 10_000_000;
  private static final int MAX_PERCENT = 99;
  private static final Duration SHORTEST = Duration.ofSeconds(1);
  private static final Pattern SPAN = Pattern.compile("([0-9]+(h|m|s))+");
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,17}");
  private static final Pattern CLUSTER_ID = Pattern.compile("[0-9a-f]{0,16}");

  ConsensusSettings {
    CHECK.port("client.port", clientPort);
    CHECK.port("peer.port", peerPort);
    if (clientPort == peerPort) {
      throw CHECK.refuse(
          "peer.port", peerPort, "which is the client.port too; give each a port of its own");
    }
    CHECK.range(
        "heartbeat.millis", heartbeatMillis, 1, MAX_ELECTION_MILLIS / HEARTBEATS_PER_ELECTION);
    CHECK.range(
        "election.millis",
        electionMillis,
        heartbeatMillis * HEARTBEATS_PER_ELECTION,
        MAX_ELECTION_MILLIS);
    CHECK.seconds("ready.seconds", ready.toSeconds(), SHORTEST, Duration.ofHours(1));
    CHECK.range("quota.bytes", quotaBytes, MIN_QUOTA, MAX_QUOTA);
    checkRetention(compactionMode, compactionRetention);
    CHECK.range("snapshot.count", snapshotCount, MIN_SNAPSHOT_COUNT, MAX_SNAPSHOT_COUNT);
    CHECK.seconds("maintenance.seconds", maintenance.toSeconds(), SHORTEST, Duration.ofDays(1));
    CHECK.range("defragment.percent", defragmentPercent, 1, MAX_PERCENT);
    checkRecovery(recovery);
  }

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value is not usable
   */
  static ConsensusSettings of(ConsensusConfig config) {
    return new ConsensusSettings(
        config.etcd(),
        config.client_port(),
        config.peer_port(),
        config.heartbeat_millis(),
        config.election_millis(),
        Duration.ofSeconds(config.ready_seconds()),
        config.quota_bytes(),
        config.compaction_mode(),
        config.compaction_retention(),
        config.snapshot_count(),
        Duration.ofSeconds(config.maintenance_seconds()),
        config.defragment_percent(),
        new RecoveryOrder(config.force_new_cluster(), config.restore()));
  }

  private static void checkRecovery(RecoveryOrder order) {
    if (!CLUSTER_ID.matcher(order.cluster()).matches()) {
      throw CHECK.refuse(
          "force.new.cluster",
          order.cluster(),
          "which is not the id of an etcd cluster; write the hexadecimal id that polisctl etcd"
              + " members shows");
    }
    if (order.cluster().isEmpty() && !order.snapshot().isEmpty()) {
      throw CHECK.refuse(
          "restore",
          order.snapshot(),
          "which replaces the records of a cluster that force.new.cluster names; set both");
    }
  }

  private static void checkRetention(String mode, String retention) {
    CHECK.oneOf("compaction.mode", mode, List.of(PERIODIC, REVISION));
    Pattern form = mode.equals(PERIODIC) ? SPAN : NUMBER;
    if (!form.matcher(retention).matches()) {
      throw CHECK.refuse(
          "compaction.retention",
          retention,
          "which does not fit mode " + mode + "; write 1h for periodic, 10000 for revision");
    }
  }
}
