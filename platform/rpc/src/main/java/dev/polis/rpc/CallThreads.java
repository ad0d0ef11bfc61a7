package dev.polis.rpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import java.util.concurrent.Executor;

/**
 * Chooses the thread of a call: the one that read its request if nothing on the way to the answer
 * waits, and otherwise one of its own.
 */
final class CallThreads implements ServerCallExecutorSupplier {
  private final CallRouter router;
  private final Executor own;

  CallThreads(CallRouter router, Executor own) {
    this.router = router;
    this.own = own;
  }

  @Override
  public <Q, A> Executor getExecutor(ServerCall<Q, A> connection, Metadata headers) {
    return router.beginHere(connection, headers) ? Runnable::run : own;
  }
}
