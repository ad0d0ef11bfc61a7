package dev.polis.rpc;

import dev.polis.logtree.Log;
import io.grpc.Context;

/**
 * Logs the events of one call, under the call's number.
 *
 * <p>A handler says {@code RpcSpan.current().event("node %s saved", id)}. Outside a call this does
 * nothing, so that the same code works in both places.
 */
public final class RpcSpan {
  static final Context.Key<RpcSpan> KEY = Context.key("polis-rpc-span");

  private static final RpcSpan NONE = new RpcSpan(0, null);

  private final int number;
  private final Log log; // null outside a call

  private RpcSpan(int number, Log log) {
    this.number = number;
    this.log = log;
  }

  static RpcSpan of(int number, Log log) {
    return new RpcSpan(number, log);
  }

  /**
   * Returns the span of the call that this thread works for; outside a call, a span that does
   * nothing.
   */
  public static RpcSpan current() {
    RpcSpan span = KEY.get();
    return span == null ? NONE : span;
  }

  /** Returns the number of the call, 8 hexadecimal digits; empty outside a call. */
  public String id() {
    return log == null ? "" : CallErrors.reference(number);
  }

  /** Logs an event, with the file and line of the caller. */
  public void event(String format, Object... arguments) {
    if (log != null) {
      log.withAddedStackDepth(1).info("[" + id() + "] " + format, arguments);
    }
  }
}
