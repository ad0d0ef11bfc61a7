package dev.polis.rpc;

import dev.polis.base.config.SettingCheck;
import dev.polis.rpc.audit.AuditSettings;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * Holds the checked configuration of a host.
 *
 * @param listeners all listeners, with unique names
 * @param limits the limits above which the host refuses
 */
public record RpcSettings(List<Listener> listeners, Limits limits) {
  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.rpc");

  private static final int MAX_PORT = 65_535;

  /**
   * The most audit files; their names have six digits, and a thousand files of 4 MiB fill a node's
   * disk.
   */
  private static final int MOST_AUDIT_FILES = 1000;

  /** The most connections; a larger limit would exceed the open files of the process. */
  private static final int MOST_CONNECTIONS = 65_536;

  /** The longest configurable time, an hour: no caller waits longer for an organ. */
  private static final long LONGEST_MILLIS = 3_600_000;

  /** Copies the list; refuses a name that occurs twice. */
  public RpcSettings {
    listeners = List.copyOf(listeners);
    long names = listeners.stream().map(Listener::name).distinct().count();
    if (names != listeners.size()) {
      throw new IllegalArgumentException(
          "two listeners have the same name among "
              + listeners.stream().map(Listener::name).toList());
    }
  }

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value cannot be used
   */
  static RpcSettings of(RpcHostConfig config) {
    InetAddress address = CHECK.address("address", config.address());
    return new RpcSettings(
        List.of(
            listener(RpcHost.CURATOR, address, "curator.port", config.curator_port(), true),
            listener(
                RpcHost.MANAGEMENT, address, "management.port", config.management_port(), true),
            listener(
                RpcHost.DEBUG, debug(config, address), "debug.port", config.debug_port(), false)),
        limits(config));
  }

  private static Listener listener(
      String name, InetAddress address, String key, int port, boolean tls) {
    return new Listener(
        name, new InetSocketAddress(address, CHECK.range(key, port, 0, MAX_PORT)), tls);
  }

  /** Returns the address of the plain-text listener, by default a loopback address. */
  private static InetAddress debug(RpcHostConfig config, InetAddress address) {
    if (!config.debug_address().isEmpty()) {
      return CHECK.address("debug.address", config.debug_address());
    }
    return address.isLoopbackAddress() ? address : InetAddress.getLoopbackAddress();
  }

  private static Limits limits(RpcHostConfig config) {
    Limits usual = Limits.DEFAULT;
    return new Limits(
        CHECK.range("held.calls", config.held_calls(), 0, Integer.MAX_VALUE),
        millis("hold.ms", config.hold_ms()),
        millis("drain.ms", config.drain_ms()),
        usual.retryDelay(),
        CHECK.range("message.bytes", config.message_bytes(), 1, Integer.MAX_VALUE),
        connections(config),
        strangerCalls(config),
        CHECK.range("calls.per.connection", config.calls_per_connection(), 1, Integer.MAX_VALUE),
        millis("handshake.ms", config.handshake_ms()),
        millis("idle.ms", config.idle_ms()),
        usual.keepAliveTime(),
        usual.keepAliveMinimum());
  }

  /**
   * Checks the configuration of the audit log.
   *
   * @throws dev.polis.base.config.SettingException if a value cannot be used
   */
  static AuditSettings audit(RpcHostConfig config) {
    return new AuditSettings(
        CHECK.range("audit.file.bytes", config.audit_file_bytes(), 1 << 12, Integer.MAX_VALUE),
        CHECK.range("audit.files", config.audit_files(), 2, MOST_AUDIT_FILES));
  }

  private static ConnectionLimits connections(RpcHostConfig config) {
    return new ConnectionLimits(
        CHECK.range("member.connections", config.member_connections(), 1, MOST_CONNECTIONS),
        CHECK.range("stranger.connections", config.stranger_connections(), 1, MOST_CONNECTIONS),
        CHECK.range("source.connections", config.source_connections(), 1, MOST_CONNECTIONS),
        CHECK.range(
            "source.connections.per.second",
            config.source_connections_per_second(),
            1,
            MOST_CONNECTIONS));
  }

  private static StrangerCalls strangerCalls(RpcHostConfig config) {
    return new StrangerCalls(
        CHECK.range(
            "stranger.calls.per.connection",
            config.stranger_calls_per_connection(),
            1,
            MOST_CONNECTIONS),
        CHECK.range("source.calls", config.source_calls(), 1, MOST_CONNECTIONS),
        CHECK.range("stranger.calls", config.stranger_calls(), 1, MOST_CONNECTIONS),
        CHECK.range(
            "stranger.request.bytes", config.stranger_request_bytes(), 1, Integer.MAX_VALUE),
        Duration.ofMillis(
            CHECK.range("stranger.call.ms", config.stranger_call_ms(), 1, LONGEST_MILLIS)));
  }

  private static Duration millis(String key, long value) {
    return Duration.ofMillis(CHECK.range(key, value, 0, LONGEST_MILLIS));
  }

  /**
   * Describes a listener.
   *
   * @param name the name that services use for it
   * @param address its address; port 0 lets the system choose
   * @param tls whether it speaks TLS and waits for credentials; otherwise it speaks plain text,
   *     identifies no caller, and opens with its first service
   */
  public record Listener(String name, InetSocketAddress address, boolean tls) {
    /** Returns the key that sets the port. */
    String setting() {
      return "dev.polis.rpc.%s.port".formatted(name);
    }
  }

  /**
   * Limits the load of a host; it refuses more.
   *
   * @param heldCalls calls of all listeners that may wait for their provider at the same time; more
   *     are refused
   * @param holdTime the longest wait of a held call
   * @param drainTime the time that a leaving provider has for its running calls
   * @param retryDelay the delay after which a refused caller tries again
   * @param messageBytes largest request
   * @param connections connections of each listener
   * @param strangerCalls calls of callers without a certificate of the cluster
   * @param callsPerConnection calls at a time on one connection; more wait in the client
   * @param handshakeTime the time that a connection may take to become usable
   * @param idleTime the time after which the host closes a connection without a call
   * @param keepAliveTime the silence after which the host sends a keep-alive
   * @param keepAliveMinimum the shortest interval of a client's keep-alives; a more frequent one
   *     ends the connection
   */
  public record Limits(
      int heldCalls,
      Duration holdTime,
      Duration drainTime,
      Duration retryDelay,
      int messageBytes,
      ConnectionLimits connections,
      StrangerCalls strangerCalls,
      int callsPerConnection,
      Duration handshakeTime,
      Duration idleTime,
      Duration keepAliveTime,
      Duration keepAliveMinimum) {
    /**
     * The default limits. The replacement of a bundle takes well under a second; 10 s also suffice
     * for an organ that starts slowly, and a person still waits so long. Five seconds of draining
     * let each unary call finish that is not stuck. 4 MiB is gRPC's own limit; the largest message,
     * a chunk of the node list, has 2 MiB. A handshake is two round trips and two signatures: 10 s
     * are ample for the worst line. Nodes call each few seconds, so a client that is silent for
     * five minutes has gone. Existing clients send a keep-alive each 10 s and expect that one each
     * second is allowed.
     */
    public static final Limits DEFAULT =
        new Limits(
            1024,
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
            Duration.ofSeconds(1),
            4 << 20,
            ConnectionLimits.DEFAULT,
            StrangerCalls.DEFAULT,
            256,
            Duration.ofSeconds(10),
            Duration.ofMinutes(5),
            Duration.ofSeconds(30),
            Duration.ofSeconds(1));
  }
}
