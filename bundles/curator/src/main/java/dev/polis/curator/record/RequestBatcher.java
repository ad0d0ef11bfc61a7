package dev.polis.curator.record;

import dev.polis.rpc.RpcException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/**
 * Groups concurrent requests into batches, so that any number of callers costs one etcd transaction
 * at a time (group commit). Requests that arrive during a batch form the next one. A batch begins
 * after its last request was submitted, and ends before any of its callers continues. A caller that
 * finds no other request handles its own on its own thread, which saves two changes of threads.
 * Thread-safe; its creator closes it.
 *
 * @param <R> the type of the requests
 */
final class RequestBatcher<R extends RequestBatcher.Request<?>> implements AutoCloseable {

  /**
   * The most requests of a batch: etcd accepts 128 operations in one transaction, and a request
   * needs at most two.
   */
  private static final int MAX_BATCH = 64;

  /** The delay before a retry, about an election. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  /**
   * Holds the request of one caller, and its outcome, which is set once.
   *
   * @param <A> the type of the answer
   */
  abstract static class Request<A> {
    private final CompletableFuture<A> outcome = new CompletableFuture<>();
    private volatile RequestBatcher<?> batcher; // null until submitted

    final void answer(A answer) {
      outcome.complete(answer);
    }

    final void fail(Throwable failure) {
      outcome.completeExceptionally(failure);
    }

    /**
     * Waits until the batch has been handled, and returns the answer or throws the failure. A
     * caller that is interrupted before its batch begins withdraws its request.
     */
    final A await() throws InterruptedException {
      try {
        return outcome.get();
      } catch (InterruptedException e) {
        withdraw();
        throw e;
      } catch (ExecutionException failed) {
        switch (failed.getCause()) {
          case RuntimeException failure -> throw failure;
          case Error failure -> throw failure;
          default -> throw new IllegalStateException(failed.getCause());
        }
      }
    }

    private void withdraw() {
      RequestBatcher<?> submittedTo = batcher;
      if (submittedTo != null) {
        submittedTo.withdraw(this);
      }
    }
  }

  /**
   * Handles a batch.
   *
   * @param <R> the type of the requests
   */
  @FunctionalInterface
  interface Handler<R> {
    /**
     * Answers or fails each request. If it throws, the other requests fail with the same exception.
     */
    void handle(List<R> batch) throws InterruptedException;
  }

  private final BlockingQueue<R> waiting = new LinkedBlockingQueue<>();
  // The thread that handles a batch holds it; the batcher's thread gets it before new callers.
  private final Semaphore turn = new Semaphore(1, true);
  private final Handler<R> handler;
  private final Thread thread;
  private volatile boolean closed;

  /** The number of queued and running requests; guarded by this. */
  private int unanswered;

  /** The caller that handles its own request, or null; guarded by this. */
  private Thread alone;

  /** Starts a thread that handles batches until the batcher is closed. */
  RequestBatcher(String name, Handler<R> handler) {
    this.handler = handler;
    this.thread = Thread.ofVirtual().name(name).start(this::run);
  }

  /**
   * Handles a request: at once on this thread if no other request waits or runs, and otherwise in
   * the next batch. Returns the answer or throws the failure. An interrupt while the caller's own
   * thread handles the request leaves the outcome unknown.
   *
   * @throws RpcException with UNAVAILABLE if the batcher is closed
   */
  <A> A call(Request<A> request, R same) throws InterruptedException {
    if (!turn.hasQueuedThreads() && turn.tryAcquire()) {
      handleAlone(same);
    } else {
      submit(same);
    }
    return request.await();
  }

  private void handleAlone(R request) throws InterruptedException {
    boolean interrupted = false;
    try {
      beginAlone();
      handle(List.of(request));
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      turn.release();
    }
    if (endAlone() && interrupted) {
      throw new InterruptedException("the client cancelled the call while it ran");
    }
  }

  private synchronized void beginAlone() {
    if (closed) {
      throw leadershipEnded();
    }
    alone = Thread.currentThread();
    unanswered++;
  }

  /** Returns whether an interrupt of this thread had another cause than {@link #close}. */
  private synchronized boolean endAlone() {
    alone = null;
    unanswered--;
    notifyAll();
    if (closed) {
      // The request has failed because of the close; the caller continues on its thread without the
      // interrupt.
      Thread.interrupted();
    }
    return !closed;
  }

  /**
   * Puts a request into the next batch.
   *
   * @throws RpcException with UNAVAILABLE if the batcher is closed
   */
  void submit(R request) {
    ((Request<?>) request).batcher = this;
    count(1);
    waiting.add(request);
    // Checked after the addition: the thread fails requests that are queued after closed was set.
    if (closed && withdraw(request)) {
      throw leadershipEnded();
    }
  }

  private boolean withdraw(Object request) {
    boolean removed = waiting.remove(request);
    if (removed) {
      count(-1);
    }
    return removed;
  }

  private synchronized void count(int change) {
    unanswered += change;
    notifyAll();
  }

  /** Waits until no request waits or runs; the caller prevents new ones. */
  synchronized void awaitIdle() throws InterruptedException {
    while (unanswered > 0) {
      wait();
    }
  }

  private void run() {
    try {
      while (true) {
        List<R> batch = new ArrayList<>(List.of(waiting.take()));
        try {
          handleInTurn(batch);
        } finally {
          count(-batch.size());
        }
      }
    } catch (InterruptedException e) {
      waiting.forEach(request -> request.fail(leadershipEnded()));
      Thread.currentThread().interrupt();
    }
  }

  private void handleInTurn(List<R> batch) throws InterruptedException {
    try {
      turn.acquire();
    } catch (InterruptedException e) {
      batch.forEach(request -> request.fail(leadershipEnded()));
      throw e;
    }
    try {
      // Lets other callers submit first: larger batches under load.
      Thread.yield();
      waiting.drainTo(batch, MAX_BATCH - 1);
      handle(batch);
    } finally {
      turn.release();
    }
  }

  private void handle(List<R> batch) throws InterruptedException {
    try {
      handler.handle(batch);
    } catch (InterruptedException e) {
      batch.forEach(request -> request.fail(leadershipEnded()));
      throw e;
    } catch (Throwable failure) {
      // The failure concerns only the callers of this batch; the next batch may succeed.
      batch.forEach(request -> request.fail(failure));
    }
  }

  private static RpcException leadershipEnded() {
    return RpcException.unavailable("this leadership has ended; ask for the leader again", RETRY);
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      if (alone != null) {
        alone.interrupt();
      }
    }
    thread.interrupt();
  }
}
