package dev.polis.roles;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the roles organ. */
@ObjectClassDefinition(
    id = "dev.polis.roles",
    name = "Roles",
    description = "Reports this node to its cluster and runs its roles")
@interface RoleConfig {

  @AttributeDefinition(
      name = "Heartbeat interval",
      description = "milliseconds between two heartbeats; the cluster gives a silent node 10 s",
      min = "100",
      max = "5000")
  int heartbeat_interval() default 2500;

  @AttributeDefinition(
      name = "Curator port",
      description = "port of the curator listener of every node",
      min = "1",
      max = "65535")
  int curator_port() default 7835;
}
