package dev.polis.debug;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Configuration of the debug organ. Where it listens is a setting of the RPC host. */
@ObjectClassDefinition(
    id = "dev.polis.debug",
    name = "Debug",
    description = "Unauthenticated look into a node that may not come up")
@interface DebugConfig {

  /** Whether the debug services are served at all. */
  @AttributeDefinition(
      name = "Enabled",
      description =
          "whether to serve the debug services, with which whoever reaches their port reads the log")
  boolean enabled() default true;
}
