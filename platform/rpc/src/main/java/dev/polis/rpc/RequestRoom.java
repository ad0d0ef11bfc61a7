package dev.polis.rpc;

import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.stream.Collectors;

/**
 * Bounds the bytes of requests that calls of one kind hold in the memory of this process. When
 * there are more, the call with the most of them ends, of the caller whose calls have the most
 * together. Safe for use by any thread.
 */
final class RequestRoom {
  private final LongFunction<RpcException> full;

  // Guarded by this.
  private final Set<Requests> held = new HashSet<>();
  private long most;
  private long bytes;

  /**
   * Makes a room that is empty.
   *
   * @param most bytes that it holds
   * @param full why a call ends, given that number
   */
  RequestRoom(long most, LongFunction<RpcException> full) {
    this.most = most;
    this.full = full;
  }

  /** Sets how many bytes it holds from now on. */
  synchronized void limit(long limit) {
    most = limit;
  }

  /** Returns how many bytes it holds now. */
  synchronized long bytes() {
    return bytes;
  }

  /**
   * Begins to count the requests of a call.
   *
   * @param caller shares its part with all its calls
   * @param end ends the call, on any thread; called at most once
   */
  Requests begin(Object caller, Consumer<RpcException> end) {
    return new Requests(caller, end);
  }

  private Requests largest() {
    Map<Object, Long> callers =
        held.stream()
            .collect(
                Collectors.groupingBy(each -> each.caller, Collectors.summingLong(Requests::held)));
    return held.stream()
        .max(
            Comparator.comparing((Requests each) -> callers.get(each.caller))
                .thenComparing(Requests::held))
        .orElseThrow();
  }

  /** Stands for the requests of one call. */
  final class Requests {
    private final Object caller;
    private final Consumer<RpcException> end;

    // Guarded by the room.
    private long arriving;
    private long arrived;
    private boolean over;

    private Requests(Object caller, Consumer<RpcException> end) {
      this.caller = caller;
      this.end = end;
    }

    /** Counts bytes of a request that is not whole yet; may end the call, or another one. */
    void arriving(long more) {
      count(more, 0);
    }

    /** Records that the request is whole. */
    void arrived() {
      synchronized (RequestRoom.this) {
        arrived += arriving;
        arriving = 0;
      }
    }

    /** Counts bytes that a whole request takes once it is read; may end the call, or another. */
    void read(long more) {
      count(0, more);
    }

    private void count(long coming, long whole) {
      Optional<Requests> victim = Optional.empty();
      long limit;
      synchronized (RequestRoom.this) {
        if (over) {
          return;
        }
        arriving += coming;
        arrived += whole;
        bytes += coming + whole;
        held.add(this);
        limit = most;
        if (bytes > limit) {
          victim = Optional.of(largest());
          victim.get().over();
        }
      }
      // Outside the lock: ending a call runs code of others.
      victim.ifPresent(each -> each.end.accept(full.apply(limit)));
    }

    private long held() {
      return arriving + arrived;
    }

    /** Records that a handler has taken all requests that are whole. */
    void taken() {
      synchronized (RequestRoom.this) {
        bytes -= arrived;
        arrived = 0;
      }
    }

    /** Records that the call is over; does nothing the second time. */
    void over() {
      synchronized (RequestRoom.this) {
        over = true;
        held.remove(this);
        bytes -= held();
        arriving = 0;
        arrived = 0;
      }
    }
  }
}
