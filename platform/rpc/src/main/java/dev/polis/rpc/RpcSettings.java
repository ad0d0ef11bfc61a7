package dev.polis.rpc;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * How a host listens and what it bears.
 *
 * @param listeners all listeners, names unique
 * @param limits what it bears
 */
public record RpcSettings(List<Listener> listeners, Limits limits) {
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
   * A listener.
   *
   * @param name what services name it by
   * @param address where it listens; port 0 lets the system choose
   * @param tls whether it speaks TLS and waits for credentials; otherwise it speaks plain text,
   *     knows nobody, and opens with its first service
   */
  public record Listener(String name, InetSocketAddress address, boolean tls) {}

  /**
   * What a host bears.
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
     * Usual limits. A bundle is replaced in well under a second; 10 s also cover an organ that has
     * to find its feet, and are within the patience of a person. Five seconds of draining let any
     * unary call finish that is not stuck. 4 MiB is gRPC's own limit; the largest message, a chunk
     * of the node list, has 2 MiB. 1024 connections are ten per node in the largest cluster we
     * think of. A handshake is two round trips and two signatures: 10 s are ample for the worst
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

    /** The same with other bounds for calls whose provider is away. */
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

    /** The same with another time for draining. */
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

    /** The same with other bounds for connections. */
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
