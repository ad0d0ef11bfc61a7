package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/** Holds the checked configuration. */
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
    int defragmentPercent) {

  private static final int MAX_PORT = 65535;
  // etcd refuses more than 50 s, and less than five heartbeats an election.
  private static final int MAX_ELECTION_MILLIS = 50_000;
  private static final int HEARTBEATS_PER_ELECTION = 5;
  // The file of an empty store has 20 KiB; below a few MiB etcd is full before it has started well.
  private static final long MIN_QUOTA = 16L << 20;
  private static final long MAX_QUOTA = 8L << 30;
  private static final Pattern SPAN = Pattern.compile("([0-9]+(h|m|s))+");
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,17}");

  ConsensusSettings {
    port("client.port", clientPort);
    port("peer.port", peerPort);
    if (clientPort == peerPort) {
      throw refused("peer.port", peerPort, "is the client.port too; give each a port of its own");
    }
    range("heartbeat.millis", heartbeatMillis, 1, MAX_ELECTION_MILLIS / HEARTBEATS_PER_ELECTION);
    range(
        "election.millis",
        electionMillis,
        (long) heartbeatMillis * HEARTBEATS_PER_ELECTION,
        MAX_ELECTION_MILLIS);
    range("ready.seconds", ready.toSeconds(), 1, Duration.ofHours(1).toSeconds());
    range("quota.bytes", quotaBytes, MIN_QUOTA, MAX_QUOTA);
    retention(compactionMode, compactionRetention);
    range("snapshot.count", snapshotCount, 100, 10_000_000);
    range("maintenance.seconds", maintenance.toSeconds(), 1, Duration.ofDays(1).toSeconds());
    range("defragment.percent", defragmentPercent, 1, 99);
  }

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
        config.defragment_percent());
  }

  private static void port(String name, int value) {
    range(name, value, 1, MAX_PORT);
  }

  private static void range(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw refused(name, value, "is not within " + least + " to " + most);
    }
  }

  private static void retention(String mode, String retention) {
    Optional<Pattern> shape =
        switch (mode) {
          case "periodic" -> Optional.of(SPAN);
          case "revision" -> Optional.of(NUMBER);
          default -> Optional.empty();
        };
    if (shape.isEmpty()) {
      throw refused("compaction.mode", mode, "is neither periodic nor revision");
    }
    if (!shape.get().matcher(retention).matches()) {
      throw refused(
          "compaction.retention",
          retention,
          "does not fit mode " + mode + "; write 1h for periodic, 10000 for revision");
    }
  }

  private static ConsensusException refused(String name, Object value, String why) {
    return new ConsensusException("consensus setting " + name + " is " + value + ", which " + why);
  }
}
