package dev.polis.rpc;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Defines the configuration of the host; its PID is the bundle's symbolic name. */
@ObjectClassDefinition(
    name = "RPC host",
    description = "Listeners and limits of the node's RPC host")
@interface RpcHostConfig {
  /** See the description. */
  @AttributeDefinition(description = "Address the TLS listeners bind")
  String address() default "0.0.0.0";

  /** See the description. */
  @AttributeDefinition(
      description = "TCP port of the curator listener (TLS)",
      min = "0",
      max = "65535")
  int curator_port() default 7835;

  /** See the description. */
  @AttributeDefinition(
      description = "TCP port of the management listener (TLS)",
      min = "0",
      max = "65535")
  int management_port() default 7839;

  /** See the description. */
  @AttributeDefinition(
      description =
          "Address the debug listener binds; empty: the address of the others if it is a loopback address, else 127.0.0.1")
  String debug_address() default "";

  /** See the description. */
  @AttributeDefinition(
      description =
          "TCP port of the debug listener (plain text, opened with the first debug service)",
      min = "0",
      max = "65535")
  int debug_port() default 7837;

  /** See the description. */
  @AttributeDefinition(
      description = "File to write to where the listeners are; empty: none is written")
  String listeners_file() default "";

  /** See the description. */
  @AttributeDefinition(
      description = "Calls that may wait for an absent provider at the same time",
      min = "0")
  int held_calls() default 1024;

  /** See the description. */
  @AttributeDefinition(description = "Milliseconds each of them may wait", min = "0")
  long hold_ms() default 10_000;

  /** See the description. */
  @AttributeDefinition(
      description = "Milliseconds a provider that goes is kept for its calls in flight",
      min = "0")
  long drain_ms() default 5_000;

  /** See the description. */
  @AttributeDefinition(description = "Largest request in bytes", min = "1")
  int message_bytes() default 4194304;

  /** See the description. */
  @AttributeDefinition(description = "Connections per listener", min = "1")
  int connections() default 1024;

  /** See the description. */
  @AttributeDefinition(description = "Calls at a time on one connection", min = "1")
  int calls_per_connection() default 256;
}
