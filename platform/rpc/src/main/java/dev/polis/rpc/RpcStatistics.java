package dev.polis.rpc;

import io.grpc.Status;
import java.util.List;
import java.util.Map;

/**
 * Counts the work of a host since its start. Most numbers only grow; a number of "this moment" also
 * falls.
 *
 * @param methods per listener and method, sorted by both
 * @param heldNow calls that wait for their provider at this moment
 * @param ports the connections of each listener, and of each port that the platform keeps open for
 *     an organ
 */
public record RpcStatistics(List<Method> methods, int heldNow, List<Port> ports) {
  /** Copies the lists. */
  public RpcStatistics {
    methods = List.copyOf(methods);
    ports = List.copyOf(ports);
  }

  /**
   * Counts the connections of one port.
   *
   * @param name the listener, or the configuration that chose the port
   * @param members open connections of members of the cluster at this moment
   * @param strangers other open connections at this moment
   * @param refused connections that were closed at once because their source opened too many
   * @param displaced connections of strangers that were closed to make room for newer ones
   * @param calls open calls of strangers at this moment
   * @param callsTurnedAway calls of strangers that were refused or ended because there were too
   *     many
   */
  public record Port(
      String name,
      int members,
      int strangers,
      long refused,
      long displaced,
      int calls,
      long callsTurnedAway) {
    /** Returns the number of connections that were closed because the limit was reached. */
    public long turnedAway() {
      return refused + displaced;
    }
  }

  /** Upper bounds of the latency buckets in seconds; a last bucket without bound follows. */
  public static final List<Double> BUCKETS =
      List.of(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0);

  /**
   * Counts the calls of one method on one listener. Calls of unserved methods count together under
   * the name {@code unknown}, so that a caller cannot fill the memory with names.
   *
   * @param listener name of the listener
   * @param method full name, {@code package.Service/Method}
   * @param active calls in progress at this moment
   * @param codes finished calls by outcome
   * @param seconds time of all finished calls together, waiting included
   * @param buckets finished calls by time, one more element than {@link #BUCKETS}, not cumulative
   * @param held calls that waited for their provider
   * @param drained calls that were running when their provider left
   */
  public record Method(
      String listener,
      String method,
      long active,
      Map<Status.Code, Long> codes,
      double seconds,
      List<Long> buckets,
      long held,
      long drained) {
    /** Copies the collections. */
    public Method {
      codes = Map.copyOf(codes);
      buckets = List.copyOf(buckets);
    }

    /** Returns the number of all finished calls. */
    public long calls() {
      return codes.values().stream().mapToLong(Long::longValue).sum();
    }
  }
}
