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

  /** Whether credentials of Kubernetes are handed out. */
  @AttributeDefinition(
      name = "Kubeconfig",
      description =
          "whether whoever reaches the port of the debug services gets credentials for Kubernetes"
              + " with any right")
  boolean kubeconfig() default false;

  /** Whether strangers load container images. */
  @AttributeDefinition(
      name = "Images",
      description =
          "whether whoever reaches the port of the debug services loads container images, which Pods"
              + " then run")
  boolean images() default false;

  /** How many read the log at the same time. */
  @AttributeDefinition(
      name = "Readers",
      description =
          "how many callers may read the log through the debug services at the same time; more are refused",
      min = "1")
  int readers() default 64;

  /** Whether developers may open a shell. */
  @AttributeDefinition(
      name = "Shell",
      description =
          "whether the user that the node runs as may open a Gogo shell in it, with polisctl shell")
  boolean shell() default false;

  /** Where the socket of the shell is. */
  @AttributeDefinition(
      name = "Folder of the shell",
      description = "folder for the socket of the shell; the launcher names one below --state")
  String shell_folder() default "";
}
