package dev.polis.rpc;

import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongFunction;

/**
 * Limits the bytes that calls of one kind hold in memory: requests, unread answers of members, and
 * the calls themselves. When the limit is exceeded, the room takes the caller whose calls hold the
 * most bytes and ends that caller's largest call; if several are equally large, it ends the oldest.
 * Safe for use by any thread.
 */
final class RequestRoom {
  private final LongFunction<RpcException> full;

  /** Holds the calls of one caller. Guarded by the room. */
  private static final class Caller {
    private final Set<Requests> calls = new LinkedHashSet<>();
    private long bytes;
  }

  // Guarded by this.
  private final Map<Object, Caller> callers = new HashMap<>();
  private long most;
  private long bytes;

  /**
   * Makes an empty room.
   *
   * @param most the limit in bytes
   * @param full makes the reason of an ended call from the limit
   */
  RequestRoom(long most, LongFunction<RpcException> full) {
    this.most = most;
    this.full = full;
  }

  /** Changes the limit in bytes. */
  synchronized void limit(long limit) {
    most = limit;
  }

  /** Returns the number of bytes that calls hold now. */
  synchronized long bytes() {
    return bytes;
  }

  /**
   * Begins to count the requests of a call.
   *
   * @param caller the caller, whose calls count together
   * @param end ends the call, on any thread; called at most once
   */
  Requests begin(Object caller, Consumer<RpcException> end) {
    return new Requests(caller, end);
  }

  private Requests largest() {
    Caller greediest =
        Collections.max(callers.values(), Comparator.comparingLong(each -> each.bytes));
    return Collections.max(greediest.calls, Comparator.comparingLong(Requests::held));
  }

  /** Stands for the requests of one call. */
  final class Requests {
    private final Object caller;
    private final Consumer<RpcException> end;

    // Guarded by the room.
    private long arriving;
    private long arrived;
    private long fixed;
    private long answers;
    private boolean over;

    private Requests(Object caller, Consumer<RpcException> end) {
      this.caller = caller;
      this.end = end;
    }

    /** Counts bytes of an incomplete request; may end this or another call. */
    void arriving(long more) {
      count(() -> arriving += more);
    }

    /** Records that the request is complete. */
    void arrived() {
      synchronized (RequestRoom.this) {
        arrived += arriving;
        arriving = 0;
      }
    }

    /** Counts bytes that a complete request takes once it is read; may end this or another call. */
    void read(long more) {
      count(() -> arrived += more);
    }

    /** Counts bytes of the call itself; may end this or another call. */
    void takes(long more) {
      count(() -> fixed += more);
    }

    /** Counts bytes of an answer; may end this or another call. */
    void answers(long more) {
      count(() -> answers += more);
    }

    /** Records that the caller has read all answers. */
    void answersRead() {
      free(() -> answers = 0);
    }

    private void count(Runnable change) {
      Optional<Requests> victim = Optional.empty();
      long limit;
      synchronized (RequestRoom.this) {
        if (over) {
          return;
        }
        long before = held();
        change.run();
        Caller mine = callers.computeIfAbsent(caller, _ -> new Caller());
        mine.calls.add(this);
        mine.bytes += held() - before;
        bytes += held() - before;
        limit = most;
        if (bytes > limit) {
          victim = Optional.of(largest());
          victim.get().over();
        }
      }
      // Outside the lock, since ending a call runs foreign code.
      victim.ifPresent(each -> each.end.accept(full.apply(limit)));
    }

    private long held() {
      return arriving + arrived + fixed + answers;
    }

    private void free(Runnable change) {
      synchronized (RequestRoom.this) {
        long before = held();
        change.run();
        bytes -= before - held();
        Caller mine = callers.get(caller);
        if (mine != null) {
          mine.bytes -= before - held();
        }
      }
    }

    /** Records that a handler has taken all complete requests. */
    void taken() {
      free(() -> arrived = 0);
    }

    /** Records that the call has left the memory; does nothing the second time. */
    void over() {
      synchronized (RequestRoom.this) {
        over = true;
        free(
            () -> {
              arriving = 0;
              arrived = 0;
              fixed = 0;
              answers = 0;
            });
        callers.computeIfPresent(
            caller, (_, mine) -> mine.calls.remove(this) && mine.calls.isEmpty() ? null : mine);
      }
    }
  }
}
