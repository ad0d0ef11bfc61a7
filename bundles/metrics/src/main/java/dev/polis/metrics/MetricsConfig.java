package dev.polis.metrics;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the metrics organ. */
@ObjectClassDefinition(
    id = "dev.polis.metrics",
    name = "Metrics",
    description = "Serves metrics of this node over HTTPS, for Prometheus")
@interface MetricsConfig {

  @AttributeDefinition(
      name = "Port",
      description = "TCP port of the HTTPS server, on the node's address; 0: any free port",
      min = "0",
      max = "65535")
  int port() default 7840;

  @AttributeDefinition(
      name = "Node exporter",
      description =
          "Path of Prometheus' node exporter, or of its directory; if empty, the node searches"
              + " PATH")
  String node_exporter() default "";

  @AttributeDefinition(
      name = "Node exporter's port",
      description = "TCP port of the node exporter, on a loopback address",
      min = "1",
      max = "65535")
  int node_exporter_port() default 7841;
}
