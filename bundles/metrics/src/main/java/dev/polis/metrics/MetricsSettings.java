package dev.polis.metrics;

import dev.polis.config.SettingCheck;

/**
 * Holds the checked configuration.
 *
 * @param port on the node's address; 0 for any free one
 */
record MetricsSettings(int port) {

  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.metrics");
  private static final int MAX_PORT = 65_535;

  MetricsSettings {
    CHECK.range("port", port, 0, MAX_PORT);
  }

  static MetricsSettings of(MetricsConfig config) {
    return new MetricsSettings(config.port());
  }
}
