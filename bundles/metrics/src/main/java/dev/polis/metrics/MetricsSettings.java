package dev.polis.metrics;

import dev.polis.base.config.SettingCheck;

/**
 * Holds the checked configuration.
 *
 * @param port the port on the node's address; 0 for any free one
 * @param nodeExporter the path of Prometheus' node exporter or of its directory; blank to search
 *     PATH
 * @param nodeExporterPort its port on a loopback address
 */
record MetricsSettings(int port, String nodeExporter, int nodeExporterPort) {

  static final String PID = "dev.polis.metrics";

  private static final SettingCheck CHECK = SettingCheck.of(PID);
  private static final int MAX_PORT = 65_535;

  MetricsSettings {
    CHECK.range("port", port, 0, MAX_PORT);
    CHECK.port("node.exporter.port", nodeExporterPort);
    if (port == nodeExporterPort) {
      throw CHECK.refuse(
          "node.exporter.port", port, "which is the port too; give each a port of its own");
    }
  }

  static MetricsSettings of(MetricsConfig config) {
    return new MetricsSettings(config.port(), config.node_exporter(), config.node_exporter_port());
  }
}
