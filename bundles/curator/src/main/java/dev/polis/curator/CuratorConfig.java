package dev.polis.curator;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Settings of the curator. */
@ObjectClassDefinition(
    id = "dev.polis.curator",
    name = "Curator",
    description = "The cluster's records behind gRPC")
@interface CuratorConfig {

  /** How long the lock of a leader that died outlives it, in seconds. */
  @AttributeDefinition(
      name = "Leader TTL",
      description = "seconds that the lock of a dead leader outlives it",
      min = "2",
      max = "60")
  int leader_ttl() default 10;

  /** The port of the curator listener, as told to those who look for the leader. */
  @AttributeDefinition(
      name = "Port",
      description = "port of the curator listener, as told to those who look for the leader",
      min = "1",
      max = "65535")
  int port() default 7835;
}
