package dev.polis.consensus;

import dev.polis.health.HealthCondition;
import dev.polis.health.HealthLevel;
import dev.polis.health.HealthScope;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;

/**
 * Shows for an hour that a full database has got room again. Writes were refused before, and what
 * has filled it may fill it again. One thread uses it.
 */
final class MadeRoom {

  private static final String CODE = "etcd-made-room";
  private static final Duration SHOWN = Duration.ofHours(1);

  private final HealthScope health;
  private final InstantSource clock;
  private Instant until = Instant.MIN; // the end of what is shown

  MadeRoom(HealthScope health, InstantSource clock) {
    this.health = health;
    this.clock = clock;
  }

  /**
   * Shows what a check has done, or ends an older report whose time is over.
   *
   * @param done one clause; empty if the check has made no room
   */
  void look(String done) {
    Instant now = clock.instant();
    if (!done.isEmpty()) {
      health.set(
          new HealthCondition(
              HealthLevel.UP,
              CODE,
              "%s, since %s".formatted(done, now.truncatedTo(ChronoUnit.SECONDS)),
              "find the client that writes so much (polisctl etcd status prints the options of etcdctl, and etcdctl watch --prefix '' shows the writes), or give etcd more room: start the node with a larger --set dev.polis.consensus.quota.bytes=BYTES"));
      until = now.plus(SHOWN);
    } else if (now.isAfter(until)) {
      clear();
    }
  }

  /** Ends the report. */
  void clear() {
    if (until.isAfter(Instant.MIN)) {
      health.clear(CODE);
      until = Instant.MIN;
    }
  }
}
