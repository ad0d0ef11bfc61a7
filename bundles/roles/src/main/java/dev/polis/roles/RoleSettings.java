package dev.polis.roles;

import dev.polis.base.config.SettingCheck;
import java.time.Duration;

/**
 * Holds the checked configuration.
 *
 * @param heartbeat the time between two heartbeats
 * @param curatorPort the port of each node's curator listener
 */
record RoleSettings(Duration heartbeat, int curatorPort) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.roles");

  // The cluster waits 10 s for a silent node: half of that leaves room for one lost heartbeat.
  private static final int LEAST_MILLIS = 100;
  static final int MOST_MILLIS = 5000;

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value cannot be used
   */
  static RoleSettings of(RoleConfig config) {
    return new RoleSettings(
        Duration.ofMillis(
            CHECK.range(
                "heartbeat.interval", config.heartbeat_interval(), LEAST_MILLIS, MOST_MILLIS)),
        CHECK.port("curator.port", config.curator_port()));
  }
}
