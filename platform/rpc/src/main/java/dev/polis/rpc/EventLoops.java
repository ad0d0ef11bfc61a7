package dev.polis.rpc;

import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.util.concurrent.Executor;

/** Finds the event loop of the calling thread, which serves the connection of the call. */
final class EventLoops {
  private final EventLoopGroup all;

  EventLoops(EventLoopGroup all) {
    this.all = all;
  }

  /**
   * Returns the event loop of this thread.
   *
   * @throws IllegalStateException if it runs none
   */
  Executor current() {
    for (EventExecutor loop : all) {
      if (loop.inEventLoop()) {
        return loop;
      }
    }
    throw new IllegalStateException(Thread.currentThread() + " runs no event loop of this host");
  }
}
