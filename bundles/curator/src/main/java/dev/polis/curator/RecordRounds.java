package dev.polis.curator;

import dev.polis.rpc.RpcException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Serves callers in rounds: who comes while a round is under way waits for the next one, which
 * takes all who wait, so that any number of callers costs one exchange with etcd at a time. A round
 * begins after each of its members has come, and ends before any of them goes on. Thread-safe;
 * whoever makes it closes it.
 *
 * @param <M> what a caller brings along
 */
final class RecordRounds<M extends RecordRounds.Member<?>> implements AutoCloseable {

  /** etcd takes 128 operations in one transaction; no member needs more than two. */
  private static final int MOST = 64;

  /** About what an election takes. */
  private static final Duration RETRY = Duration.ofSeconds(1);

  /**
   * A caller's place in a round, settled once.
   *
   * @param <A> what the caller gets
   */
  abstract static class Member<A> {
    private final CompletableFuture<A> outcome = new CompletableFuture<>();
    private volatile Collection<?> queue = List.of();

    final void answer(A answer) {
      outcome.complete(answer);
    }

    final void fail(Throwable failure) {
      outcome.completeExceptionally(failure);
    }

    /**
     * Waits for the end of the round, and returns the answer or throws the failure. A caller that
     * is interrupted before its round has begun is taken out of it: nothing happens on its behalf.
     */
    final A await() throws InterruptedException {
      try {
        return outcome.get();
      } catch (InterruptedException e) {
        queue.remove(this);
        throw e;
      } catch (ExecutionException failed) {
        switch (failed.getCause()) {
          case RuntimeException failure -> throw failure;
          case Error failure -> throw failure;
          default -> throw new IllegalStateException(failed.getCause());
        }
      }
    }
  }

  /**
   * The work of a round: settles its members. Whom it leaves unsettled when it throws fails with
   * what it threw.
   *
   * @param <M> the members
   */
  @FunctionalInterface
  interface Round<M> {
    void run(List<M> members) throws InterruptedException;
  }

  private final BlockingQueue<M> waiting = new LinkedBlockingQueue<>();
  private final Round<M> round;
  private final Thread thread;
  private volatile boolean closed;

  RecordRounds(String name, Round<M> round) {
    this.round = round;
    this.thread = Thread.ofVirtual().name(name).start(this::run);
  }

  /**
   * Puts a member into the next round.
   *
   * @throws RpcException with UNAVAILABLE if the rounds are over
   */
  void join(M member) {
    ((Member<?>) member).queue = waiting;
    waiting.add(member);
    // Looked at after joining, as the thread looks at who waits after it was told to end.
    if (closed && waiting.remove(member)) {
      throw over();
    }
  }

  private void run() {
    try {
      while (true) {
        List<M> members = new ArrayList<>(List.of(waiting.take()));
        // Callers who are about to join get their turn first: fuller rounds where there are many.
        Thread.yield();
        waiting.drainTo(members, MOST - 1);
        run(members);
      }
    } catch (InterruptedException e) {
      waiting.forEach(member -> member.fail(over()));
      Thread.currentThread().interrupt();
    }
  }

  private void run(List<M> members) throws InterruptedException {
    try {
      round.run(members);
    } catch (InterruptedException e) {
      members.forEach(member -> member.fail(over()));
      throw e;
    } catch (Throwable failure) {
      // Whatever it is, it is that of these callers; those of the next round may fare better.
      members.forEach(member -> member.fail(failure));
    }
  }

  private static RpcException over() {
    return RpcException.unavailable("this leadership is over; ask for the leader again", RETRY);
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
