package dev.polis.rpc;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Defines the configuration of the host; its PID is the bundle's symbolic name. */
@ObjectClassDefinition(
    name = "RPC host",
    description = "Listeners and limits of the node's RPC host")
@interface RpcHostConfig {
  @AttributeDefinition(description = "Address the TLS listeners bind")
  String address() default "0.0.0.0";

  @AttributeDefinition(
      description = "TCP port of the curator listener (TLS)",
      min = "0",
      max = "65535")
  int curator_port() default 7835;

  @AttributeDefinition(
      description = "TCP port of the management listener (TLS)",
      min = "0",
      max = "65535")
  int management_port() default 7839;

  @AttributeDefinition(
      description =
          "Address the debug listener binds; empty: the address of the others if it is a loopback address, else 127.0.0.1")
  String debug_address() default "";

  @AttributeDefinition(
      description =
          "TCP port of the debug listener (plain text, opened with the first debug service)",
      min = "0",
      max = "65535")
  int debug_port() default 7837;

  @AttributeDefinition(
      description = "File to write to where the listeners are; empty: none is written")
  String listeners_file() default "";

  @AttributeDefinition(
      description = "Calls that may wait for an absent provider at the same time",
      min = "0")
  int held_calls() default 1024;

  @AttributeDefinition(description = "Milliseconds each of them may wait", min = "0")
  long hold_ms() default 10_000;

  @AttributeDefinition(
      description =
          "Milliseconds for which the node keeps a stopping provider for its calls in flight",
      min = "0")
  long drain_ms() default 5_000;

  @AttributeDefinition(description = "Largest request in bytes", min = "1")
  int message_bytes() default 4194304;

  @AttributeDefinition(
      description =
          "Connections of members of the cluster on each listener; more are treated as strangers'",
      min = "1")
  int member_connections() default 768;

  @AttributeDefinition(
      description =
          "Connections of strangers at all ports together; a new one displaces the oldest of the source with the most",
      min = "1")
  int stranger_connections() default 256;

  @AttributeDefinition(
      description =
          "Connections of strangers from one source (IPv4 address, IPv6 /64) at all ports together",
      min = "1")
  int source_connections() default 64;

  @AttributeDefinition(
      description =
          "New connections of strangers from one source in a second; more are closed unread",
      min = "1")
  int source_connections_per_second() default 32;

  @AttributeDefinition(
      description =
          "Open calls of strangers at all ports together; a new one ends the oldest of the source with the most",
      min = "1")
  int stranger_calls() default 256;

  @AttributeDefinition(
      description =
          "Open calls of strangers from one source (IPv4 address, IPv6 /64) at all ports together; more are refused",
      min = "1")
  int source_calls() default 64;

  @AttributeDefinition(
      description = "Open calls of a stranger on one connection; more are refused",
      min = "1")
  int stranger_calls_per_connection() default 16;

  @AttributeDefinition(
      description =
          "Bytes of strangers' requests at all ports together, of streams until a handler has taken them; when there are more, the largest ends",
      min = "1")
  int stranger_request_bytes() default 8388608;

  @AttributeDefinition(description = "Milliseconds a call of a stranger may take", min = "1")
  long stranger_call_ms() default 60_000;

  @AttributeDefinition(
      description =
          "Milliseconds a connection may take to finish its handshake, and a stranger's may be without a call",
      min = "1")
  long handshake_ms() default 10_000;

  @AttributeDefinition(
      description = "Milliseconds for which the node keeps a connection without a call",
      min = "1")
  long idle_ms() default 300_000;

  @AttributeDefinition(description = "Calls at a time on one connection", min = "1")
  int calls_per_connection() default 256;

  @AttributeDefinition(
      description = "Size in bytes at which another file of the audit log is begun",
      min = "4096")
  int audit_file_bytes() default 4194304;

  @AttributeDefinition(
      description = "How many files of the audit log the node keeps; it deletes the oldest",
      min = "2",
      max = "1000")
  int audit_files() default 16;
}
