package dev.polis.rpc;

import io.grpc.Context;
import java.util.concurrent.Executor;

/**
 * Identifies the connection of a call.
 *
 * @param writer runs tasks on the thread that writes to the connection, one after the other
 * @param identity equal for all calls of the connection
 */
record CallConnection(Executor writer, Object identity) {
  static final Context.Key<CallConnection> KEY = Context.key("polis-rpc-connection");

  private static final CallConnection NONE = new CallConnection(Runnable::run, "none");

  /**
   * Returns the connection of the call that this thread works for, or {@code NONE} outside a call.
   */
  static CallConnection current() {
    CallConnection connection = KEY.get();
    return connection == null ? NONE : connection;
  }
}
