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
 * @param listeners all listeners, names unique
 * @param limits how much the host takes before it refuses
 */
public record RpcSettings(List<Listener> listeners, Limits limits) {
  private static final SettingCheck CHECK = SettingCheck.of("dev.polis.rpc");

  private static final int MAX_PORT = 65_535;

  /** Their names have six digits; a thousand of 4 MiB are more than a node has room for. */
  private static final int MOST_AUDIT_FILES = 1000;

  /** Beyond it the files of a process end before the limit is reached. */
  private static final int MOST_CONNECTIONS = 65_536;

  /** An hour: no caller waits longer for an organ. */
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

  /**
   * Returns the address of the plain-text listener, which stays on this machine unless configured
   * otherwise.
   */
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
   * Says where a listener listens and how.
   *
   * @param name what services name it by
   * @param address where it listens; port 0 lets the system choose
   * @param tls whether it speaks TLS and waits for credentials; otherwise it speaks plain text,
   *     identifies no caller, and opens with its first service
   */
  public record Listener(String name, InetSocketAddress address, boolean tls) {}

  /**
   * Limits how much a host takes before it refuses.
   *
   * @param heldCalls calls of all listeners that may wait for their provider at the same time; more
   *     are refused
   * @param holdTime how long each may wait
   * @param drainTime how long a provider that goes is kept for its calls in flight
   * @param retryDelay how long callers are asked to wait before they try again
   * @param messageBytes largest request
   * @param connections connections of each listener
   * @param strangerCalls calls of callers without a certificate of the cluster
   * @param callsPerConnection calls at a time on one connection; more wait in the client
   * @param handshakeTime what a connection may take to become usable
   * @param idleTime how long a connection without a call is kept
   * @param keepAliveTime silence after which a connection is asked whether it still lives
   * @param keepAliveMinimum how often a client may ask the same; one that asks more is disconnected
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
     * The default limits. A bundle is replaced in well under a second; 10 s also cover an organ
     * that has to find its feet, and are within the patience of a person. Five seconds of draining
     * let any unary call finish that is not stuck. 4 MiB is gRPC's own limit; the largest message,
     * a chunk of the node list, has 2 MiB. A handshake is two round trips and two signatures: 10 s
     * are ample for the worst line. Nodes call each few seconds, so a client that is silent for
     * five minutes has gone. Existing clients ask each 10 s and expect that each second is allowed.
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
