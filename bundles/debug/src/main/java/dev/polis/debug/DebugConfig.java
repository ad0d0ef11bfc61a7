package dev.polis.debug;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/**
 * Declares the configuration of the debug organ. The address of its listener is a setting of the
 * RPC host.
 */
@ObjectClassDefinition(
    id = "dev.polis.debug",
    name = "Debug",
    description = "Shows the state of a node that does not come up, without authentication")
@interface DebugConfig {

  /** Returns whether the organ serves the debug services. */
  @AttributeDefinition(
      name = "Enabled",
      description =
          "whether to serve the debug services; every client that reaches their port can then read the log")
  boolean enabled() default true;

  /** Returns whether the organ issues credentials of Kubernetes. */
  @AttributeDefinition(
      name = "Kubeconfig",
      description =
          "whether every client that reaches the port of the debug services can get credentials"
              + " for Kubernetes with any right")
  boolean kubeconfig() default false;

  /** Returns whether strangers may load container images. */
  @AttributeDefinition(
      name = "Images",
      description =
          "whether every client that reaches the port of the debug services can load container"
              + " images, which Pods then run")
  boolean images() default false;

  /** Returns the number of callers that may read the log at the same time. */
  @AttributeDefinition(
      name = "Readers",
      description =
          "how many callers may read the log through the debug services at the same time; the node refuses more",
      min = "1")
  int readers() default 64;

  /** Returns whether developers may open a shell. */
  @AttributeDefinition(
      name = "Shell",
      description =
          "whether the user that the node runs as may open a Gogo shell in it, with polisctl shell")
  boolean shell() default false;

  /** Returns the folder of the shell's socket. */
  @AttributeDefinition(
      name = "Folder of the shell",
      description = "folder for the socket of the shell; the launcher sets one below --state")
  String shell_folder() default "";
}
