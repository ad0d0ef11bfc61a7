package dev.polis.curator;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the curator organ. */
@ObjectClassDefinition(
    id = "dev.polis.curator",
    name = "Curator",
    description = "Keeps the cluster's records in etcd and serves the API for them")
@interface CuratorConfig {

  /** The seconds after which the lock of a dead leader expires. */
  @AttributeDefinition(
      name = "Leader TTL",
      description = "seconds after which the lock of a dead leader expires",
      min = "2",
      max = "60")
  int leader_ttl() default 10;

  /** The port to which the node sends clients that ask for the leader. */
  @AttributeDefinition(
      name = "Port",
      description =
          "port of the curator listener; the node sends clients that ask for the leader to it",
      min = "1",
      max = "65535")
  int port() default 7835;
}
