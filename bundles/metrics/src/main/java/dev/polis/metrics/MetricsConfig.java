package dev.polis.metrics;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Settings of the metrics organ. */
@ObjectClassDefinition(
    id = "dev.polis.metrics",
    name = "Metrics",
    description = "What this node counts, over HTTPS for Prometheus")
@interface MetricsConfig {

  /** The port on the node's address. */
  @AttributeDefinition(
      name = "Port",
      description = "TCP port of the HTTPS server, on the node's address",
      min = "0",
      max = "65535")
  int port() default 7840;

  /** Where the local etcd serves its metrics. */
  @AttributeDefinition(
      name = "etcd address",
      description =
          "Address at which the local etcd serves its metrics; empty: 127.0.0.1, or the node's own"
              + " loopback address")
  String etcd_address() default "";

  /** Where the local etcd serves its metrics. */
  @AttributeDefinition(
      name = "etcd port",
      description = "TCP port at which the local etcd serves its metrics",
      min = "1",
      max = "65535")
  int etcd_port() default 7842;
}
