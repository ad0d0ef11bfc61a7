package dev.polis.convergence;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the convergence organ. */
@ObjectClassDefinition(
    id = "dev.polis.convergence",
    name = "Convergence",
    description = "Runs the plugins that the cluster wants of this node")
@interface ConvergenceConfig {

  @AttributeDefinition(
      name = "Curator port",
      description = "port of the curator listener of every node",
      min = "1",
      max = "65535")
  int curator_port() default 7835;

  @AttributeDefinition(
      name = "Retry interval",
      description =
          "milliseconds until the node asks again for a plugin's file that no node could give",
      min = "100",
      max = "3600000")
  int retry_ms() default 15000;
}
