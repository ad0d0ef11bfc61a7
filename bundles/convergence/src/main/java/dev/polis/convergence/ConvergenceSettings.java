package dev.polis.convergence;

import dev.polis.base.config.SettingCheck;
import java.time.Duration;

/**
 * Holds the checked configuration.
 *
 * @param curatorPort the port of each node's curator listener
 * @param retry the time after which the node requests an unavailable file again, or repeats a
 *     failed write to the disk
 */
record ConvergenceSettings(int curatorPort, Duration retry) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.convergence");

  // A shorter time would load the other nodes; an hour is long enough for an operator to notice.
  private static final int LEAST_MILLIS = 100;
  private static final int MOST_MILLIS = 3_600_000;

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value is not usable
   */
  static ConvergenceSettings of(ConvergenceConfig config) {
    return new ConvergenceSettings(
        CHECK.port("curator.port", config.curator_port()),
        Duration.ofMillis(CHECK.range("retry.ms", config.retry_ms(), LEAST_MILLIS, MOST_MILLIS)));
  }
}
