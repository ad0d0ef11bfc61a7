package dev.polis.rpc;

import dev.polis.base.posix.PosixException;
import dev.polis.base.posix.ThreadPriority;
import dev.polis.logtree.Log;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Computes for calls on few platform threads of low priority, so that long computations leave the
 * carriers of virtual threads to the calls that only wait. There is one for all organs of a node:
 * one for each would take as many processors as there are organs. The RPC host closes it.
 *
 * <p>Safe for use by any thread. An idle node has none of these threads.
 */
public final class ComputingThreads implements AutoCloseable {
  /** Half of the processors, so that heartbeats and etcd have the others. */
  static final int THREADS = Math.max(1, Runtime.getRuntime().availableProcessors() / 2);

  /** Calls that wait for a thread; each holds its request, which has 4 MiB at most. */
  static final int WAITING = 16;

  /** The time that a call waits for a thread; polisctl waits 15 s for its answer. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /**
   * The niceness of the threads: beside busy threads of normal priority they get a tenth of a
   * processor.
   */
  private static final int NICENESS = 10;

  /**
   * The time after which an idle thread ends; a thread costs 60 µs to start and some hundred KiB to
   * keep.
   */
  private static final Duration IDLE = Duration.ofSeconds(10);

  /** The delay after which a caller without a thread tries again. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  /**
   * Computes a result. It ends soon after its thread is interrupted, and bounds its own size:
   * nothing else ends it.
   *
   * @param <T> the type of the result
   */
  @FunctionalInterface
  public interface Work<T> {
    /**
     * Computes on another thread than the caller's.
     *
     * @throws InterruptedException if the thread is interrupted, since no caller waits for the
     *     result
     */
    T run() throws InterruptedException;
  }

  /** Lets its caller wait first for the begin of the work, and then for the end. */
  private static final class Task<T> extends FutureTask<T> {
    /** Opens when a thread begins the work, or when no thread ever will. */
    private final CountDownLatch begun;

    Task(Work<T> work) {
      this(work, new CountDownLatch(1));
    }

    private Task(Work<T> work, CountDownLatch begun) {
      super(
          () -> {
            begun.countDown();
            return work.run();
          });
      this.begun = begun;
    }

    @Override
    protected void done() {
      begun.countDown();
    }
  }

  private final Log log;
  private final Duration patience;
  private final ThreadPoolExecutor threads;

  ComputingThreads(Log log) {
    this(log, PATIENCE);
  }

  /** Creates threads; a call waits at most this long for one. */
  ComputingThreads(Log log, Duration patience) {
    this.log = log;
    this.patience = patience;
    this.threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            IDLE.toNanos(),
            TimeUnit.NANOSECONDS,
            new ArrayBlockingQueue<>(WAITING),
            factory());
    threads.allowCoreThreadTimeOut(true);
  }

  private ThreadFactory factory() {
    ThreadFactory plain =
        Thread.ofPlatform()
            .daemon()
            .inheritInheritableThreadLocals(false)
            .name("computing-", 0)
            .factory();
    return work -> {
      Thread thread = plain.newThread(() -> runLowered(work));
      // Otherwise the thread would keep the caller's class loader, and with it a replaced organ, in
      // memory.
      thread.setContextClassLoader(ComputingThreads.class.getClassLoader());
      return thread;
    };
  }

  private void runLowered(Runnable work) {
    try {
      ThreadPriority.lower(NICENESS);
    } catch (PosixException e) {
      log.warning("a thread that computes has the priority of those that answer: %s", e);
    }
    work.run();
  }

  /**
   * Computes on one of the threads while the caller's thread waits. A caller that is interrupted
   * interrupts the work.
   *
   * @param work its exceptions reach the caller; it uses no object that the caller changes
   *     meanwhile
   * @throws RpcException UNAVAILABLE if there is no thread within five seconds, if too many others
   *     wait for one, or if the host is closed
   * @throws InterruptedException if the caller is interrupted
   */
  public <T> T run(Work<T> work) throws InterruptedException {
    Task<T> task = new Task<>(work);
    try {
      threads.execute(task);
      if (!task.begun.await(patience.toNanos(), TimeUnit.NANOSECONDS) && threads.remove(task)) {
        throw busy();
      }
      return task.get();
    } catch (RejectedExecutionException e) {
      throw threads.isShutdown() ? closed() : busy();
    } catch (CancellationException e) {
      throw closed();
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    } finally {
      threads.remove(task);
      task.cancel(true);
    }
  }

  private static RuntimeException failure(Throwable cause) {
    return switch (cause) {
      case RuntimeException failure -> failure;
      case Error failure -> throw failure;
      // The caller's thread was not interrupted, so the host is closing.
      case InterruptedException e -> closed();
      default -> new RpcException(Status.Code.INTERNAL, "the computation failed", cause);
    };
  }

  private static RpcException busy() {
    return RpcException.unavailable(
        "this node computes for other calls at present, and %d more would wait; call again"
            .formatted(WAITING),
        RETRY);
  }

  private static RpcException closed() {
    return RpcException.unavailable("the node is stopping; call again when it is back", RETRY);
  }

  /** Returns how many calls wait for a thread. */
  int waiting() {
    return threads.getQueue().size();
  }

  /** Interrupts the running work, and ends the waiting calls with UNAVAILABLE. */
  @Override
  public void close() {
    threads.shutdownNow().forEach(waiting -> ((Task<?>) waiting).cancel(false));
  }
}
