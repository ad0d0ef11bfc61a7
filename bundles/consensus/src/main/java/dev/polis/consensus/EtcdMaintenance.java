package dev.polis.consensus;

import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdAlarm;
import dev.polis.etcd.EtcdCompactedException;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdStatus;
import dev.polis.logtree.Log;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

/**
 * Maintains the member's database: alarms, history, size. Its caller decides about the time of each
 * {@link #check}. One thread uses it.
 *
 * <p>A member does not serve during a defragmentation. So this class defragments only while clients
 * write little, and never on a leader with other members. It compacts and defragments a full
 * database at once, and clears the alarm.
 */
final class EtcdMaintenance {

  /**
   * Holds the result of a check.
   *
   * @param madeRoom what the check has done about a full database; empty if nothing
   */
  record Findings(List<String> alarms, EtcdStatus status, String madeRoom) {}

  // A smaller file is not worth a pause, even if it is nearly empty.
  private static final long WORTHWHILE_BYTES = 8L << 20;
  // The leases of heartbeats alone stay far below this rate; each deployment is far above.
  private static final double QUIET_WRITES_PER_SECOND = 5;
  // Below this part of the quota the alarm does not return at once.
  private static final double ROOM = 0.8;
  private static final int PERCENT = 100;

  private final EtcdAdmin admin;
  private final EtcdEndpoint endpoint;
  private final ConsensusSettings settings;
  private final Log log;
  private OptionalLong revisionBefore = OptionalLong.empty();

  EtcdMaintenance(EtcdAdmin admin, EtcdEndpoint endpoint, ConsensusSettings settings, Log log) {
    this.admin = admin;
    this.endpoint = endpoint;
    this.settings = settings;
    this.log = log;
  }

  /**
   * Checks the database once and does the due maintenance.
   *
   * @param sinceLast the time since the previous check
   * @throws EtcdException if etcd does not answer; the next check may succeed
   */
  Findings check(Duration sinceLast) throws InterruptedException {
    EtcdStatus status = admin.status(endpoint);
    List<EtcdAlarm> alarms = admin.alarms();
    String madeRoom = "";
    if (full(alarms, status)) {
      madeRoom = makeRoom(status);
      alarms = admin.alarms();
      status = admin.status(endpoint);
    } else if (fragmented(status) && quiet(status, sinceLast) && mayPause(status)) {
      defragment(status);
      status = admin.status(endpoint);
    }
    revisionBefore = OptionalLong.of(status.revision());
    return new Findings(texts(alarms), status, madeRoom);
  }

  /** Returns alarms as the status of consensus shows them. */
  static List<String> texts(List<EtcdAlarm> alarms) {
    return alarms.stream().map(EtcdMaintenance::text).toList();
  }

  static String text(EtcdAlarm alarm) {
    return alarm.kind() + " at " + Long.toHexString(alarm.memberId());
  }

  private static boolean full(List<EtcdAlarm> alarms, EtcdStatus status) {
    return alarms.contains(new EtcdAlarm(status.memberId(), EtcdAlarm.Kind.NOSPACE));
  }

  /** Frees what it can; returns the result if the database takes writes again. */
  private String makeRoom(EtcdStatus status) throws InterruptedException {
    log.error(
        "the database has %d of %d bytes, and etcd refuses writes; the node compacts and defragments it",
        status.databaseBytes(), settings.quotaBytes());
    compact(status.revision());
    defragment(status);
    EtcdStatus after = admin.status(endpoint);
    if (hasRoom(after, settings.quotaBytes())) {
      admin.disarm(new EtcdAlarm(status.memberId(), EtcdAlarm.Kind.NOSPACE));
      return "etcd's database had used up its %d bytes, so etcd refused writes; the node has removed the history of its keys, and it has %d bytes and takes writes again"
          .formatted(settings.quotaBytes(), after.databaseBytes());
    }
    log.error(
        "the database still has %d of %d bytes; delete keys, or raise quota.bytes of"
            + " dev.polis.consensus",
        after.databaseBytes(), settings.quotaBytes());
    return "";
  }

  /** Returns whether a database is so small that its alarm would not return at once. */
  static boolean hasRoom(EtcdStatus status, long quota) {
    return status.databaseBytes() < quota * ROOM;
  }

  private void compact(long revision) throws InterruptedException {
    try {
      admin.compact(revision);
    } catch (EtcdCompactedException already) {
      log.info("etcd has already compacted the history up to revision %d", revision);
    }
  }

  private boolean fragmented(EtcdStatus status) {
    long free = status.databaseBytes() - status.databaseBytesInUse();
    return status.databaseBytes() >= WORTHWHILE_BYTES
        && free * PERCENT > status.databaseBytes() * settings.defragmentPercent();
  }

  private boolean quiet(EtcdStatus status, Duration sinceLast) {
    if (revisionBefore.isEmpty() || sinceLast.isZero()) {
      return false;
    }
    double seconds = sinceLast.toNanos() / (double) Duration.ofSeconds(1).toNanos();
    return (status.revision() - revisionBefore.getAsLong()) / seconds <= QUIET_WRITES_PER_SECOND;
  }

  private boolean mayPause(EtcdStatus status) throws InterruptedException {
    return !status.isLeader() || admin.members().size() == 1;
  }

  private void defragment(EtcdStatus before) throws InterruptedException {
    long start = System.nanoTime();
    admin.defragment(endpoint);
    log.info(
        "defragmented the database from %d to %d bytes in %d ms",
        before.databaseBytes(),
        admin.status(endpoint).databaseBytes(),
        Duration.ofNanos(System.nanoTime() - start).toMillis());
  }
}
