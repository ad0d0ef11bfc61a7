package dev.polis.kubernetes;

import dev.polis.config.SettingCheck;

/**
 * Holds the checked configuration.
 *
 * @param port on the node's address; 0 for any free one
 */
record KubernetesSettings(int port) {

  static final String PID = "dev.polis.kubernetes";

  private static final SettingCheck CHECK = SettingCheck.of(PID);
  private static final int MAX_PORT = 65_535;

  KubernetesSettings {
    CHECK.range("port", port, 0, MAX_PORT);
  }

  static KubernetesSettings of(KubernetesConfig config) {
    return new KubernetesSettings(config.port());
  }
}
