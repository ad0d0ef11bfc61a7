package dev.polis.rpc;

import dev.polis.config.SettingCheck;
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

  /** An hour: whoever waits longer for an organ has given up. */
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
   * @throws dev.polis.config.SettingException if a value cannot be used
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
        CHECK.range("connections", config.connections(), 1, Integer.MAX_VALUE),
        CHECK.range("calls.per.connection", config.calls_per_connection(), 1, Integer.MAX_VALUE),
        usual.handshakeTime(),
        usual.keepAliveTime(),
        usual.keepAliveMinimum());
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
   *     knows nobody, and opens with its first service
   */
  public record Listener(String name, InetSocketAddress address, boolean tls) {}

  /**
   * Limits how much a host takes before it refuses.
   *
   * @param heldCalls calls of all listeners that may wait for their provider at the same time; more
   *     are refused
   * @param holdTime how long each may wait
   * @param drainTime how long a provider that goes is kept for its calls in flight
   * @param retryDelay what callers are told to wait before they try again
   * @param messageBytes largest request
   * @param connections connections per listener; more are closed at once
   * @param callsPerConnection calls at a time on one connection; more wait in the client
   * @param handshakeTime what a connection may take to become usable
   * @param keepAliveTime silence after which a connection is asked whether it still lives
   * @param keepAliveMinimum how often a client may ask the same; one that asks more is disconnected
   */
  public record Limits(
      int heldCalls,
      Duration holdTime,
      Duration drainTime,
      Duration retryDelay,
      int messageBytes,
      int connections,
      int callsPerConnection,
      Duration handshakeTime,
      Duration keepAliveTime,
      Duration keepAliveMinimum) {
    /**
     * The default limits. A bundle is replaced in well under a second; 10 s also cover an organ
     * that has to find its feet, and are within the patience of a person. Five seconds of draining
     * let any unary call finish that is not stuck. 4 MiB is gRPC's own limit; the largest message,
     * a chunk of the node list, has 2 MiB. 1024 connections are ten per node in the largest cluster
     * we think of. A handshake is two round trips and two signatures: 10 s are ample for the worst
     * line. Existing clients ask each 10 s and expect that each second is allowed.
     */
    public static final Limits DEFAULT =
        new Limits(
            1024,
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
            Duration.ofSeconds(1),
            4 << 20,
            1024,
            256,
            Duration.ofSeconds(10),
            Duration.ofSeconds(30),
            Duration.ofSeconds(1));

    /** Returns the same with other limits for calls whose provider is away. */
    public Limits withHold(int calls, Duration time) {
      return new Limits(
          calls,
          time,
          drainTime,
          retryDelay,
          messageBytes,
          connections,
          callsPerConnection,
          handshakeTime,
          keepAliveTime,
          keepAliveMinimum);
    }

    /** Returns the same with another drain time. */
    public Limits withDrain(Duration time) {
      return new Limits(
          heldCalls,
          holdTime,
          time,
          retryDelay,
          messageBytes,
          connections,
          callsPerConnection,
          handshakeTime,
          keepAliveTime,
          keepAliveMinimum);
    }

    /** Returns the same with other limits for connections. */
    public Limits withConnections(int most, Duration handshake) {
      return new Limits(
          heldCalls,
          holdTime,
          drainTime,
          retryDelay,
          messageBytes,
          most,
          callsPerConnection,
          handshake,
          keepAliveTime,
          keepAliveMinimum);
    }
  }
}
