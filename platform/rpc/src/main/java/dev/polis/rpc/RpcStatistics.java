package dev.polis.rpc;

import io.grpc.Status;
import java.util.List;
import java.util.Map;

/**
 * Counts what a host has served since it started. Numbers only grow, but for the two that say so.
 *
 * @param methods per listener and method, sorted by both
 * @param heldNow calls that wait for their provider at this moment
 * @param connectionsNow open connections of all listeners at this moment
 * @param connectionsRefused connections that were closed at once because there were too many
 */
public record RpcStatistics(
    List<Method> methods, int heldNow, int connectionsNow, long connectionsRefused) {
  /** Copies the list. */
  public RpcStatistics {
    methods = List.copyOf(methods);
  }

  /** Upper bounds of the latency buckets in seconds; a last bucket without bound follows. */
  public static final List<Double> BUCKETS =
      List.of(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0);

  /**
   * Counts the calls of one method on one listener. Methods that nobody ever served are counted
   * together under the name {@code unknown}, so that a caller cannot fill the memory with names.
   *
   * @param listener name of the listener
   * @param method full name, {@code package.Service/Method}
   * @param active calls in progress at this moment
   * @param codes finished calls by outcome
   * @param seconds time of all finished calls together, waiting included
   * @param buckets finished calls by time, one more element than {@link #BUCKETS}, not cumulative
   * @param held calls that had to wait for their provider
   * @param drained calls that were in flight when their provider went
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
