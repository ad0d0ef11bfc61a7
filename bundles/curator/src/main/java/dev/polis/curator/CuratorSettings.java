package dev.polis.curator;

import dev.polis.base.config.SettingCheck;
import java.time.Duration;

/**
 * Holds the checked configuration of the curator organ.
 *
 * @param leaderTtl the time after which the lock of a dead leader expires
 * @param port the port of the curator listener, to which the node sends clients that ask for the
 *     leader
 */
record CuratorSettings(Duration leaderTtl, int port) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.curator");

  // Below two seconds, one slow disk write of etcd costs a healthy leader its lock.
  private static final Duration SHORTEST_TTL = Duration.ofSeconds(2);

  // After the death of a leader, no node leads for this long.
  private static final Duration LONGEST_TTL = Duration.ofMinutes(1);

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value cannot be used
   */
  static CuratorSettings of(CuratorConfig config) {
    return new CuratorSettings(
        CHECK.seconds("leader.ttl", config.leader_ttl(), SHORTEST_TTL, LONGEST_TTL),
        CHECK.port("port", config.port()));
  }
}
