package dev.polis.convergence;

import dev.polis.config.SettingCheck;
import java.time.Duration;

/**
 * Holds the checked configuration.
 *
 * @param curatorPort port of the curator listener of every node
 * @param retry after which a file that no node could give is asked for again, and what the disk did
 *     not take is written again
 */
record ConvergenceSettings(int curatorPort, Duration retry) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.convergence");

  // More often would be load on the nodes that are asked; an hour is long enough to be noticed.
  private static final int LEAST_MILLIS = 100;
  private static final int MOST_MILLIS = 3_600_000;

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.config.SettingException if a value cannot be used
   */
  static ConvergenceSettings of(ConvergenceConfig config) {
    return new ConvergenceSettings(
        CHECK.port("curator.port", config.curator_port()),
        Duration.ofMillis(CHECK.range("retry.ms", config.retry_ms(), LEAST_MILLIS, MOST_MILLIS)));
  }
}
