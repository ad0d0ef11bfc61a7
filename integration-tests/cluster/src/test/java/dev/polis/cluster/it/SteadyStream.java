package dev.polis.cluster.it;

import dev.polis.fixtures.Await;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Keeps a stream open: reads it to its end, and opens it again when it ended with UNAVAILABLE, as
 * every client of a stream must. Any other end is kept as a failure.
 */
final class SteadyStream implements AutoCloseable {

  /** Opens the stream and reads it to its end. */
  @FunctionalInterface
  interface Reading {
    void readAll(Runnable onMessage) throws Exception;
  }

  private final String name;
  private final AtomicInteger received = new AtomicInteger();
  private final AtomicReference<Exception> failure = new AtomicReference<>();
  private final Thread thread;

  private SteadyStream(String name, Reading reading) {
    this.name = name;
    this.thread = Thread.ofVirtual().name("steady stream").start(() -> run(reading));
  }

  static SteadyStream of(String name, Reading reading) {
    return new SteadyStream(name, reading);
  }

  private void run(Reading reading) {
    while (!Thread.currentThread().isInterrupted() && failure.get() == null) {
      try {
        reading.readAll(received::incrementAndGet);
      } catch (StatusException e) {
        if (e.getStatus().getCode() != Status.Code.UNAVAILABLE) {
          fail(e);
        }
      } catch (Exception e) {
        fail(e);
      }
    }
  }

  private void fail(Exception e) {
    if (!Thread.currentThread().isInterrupted()) {
      failure.set(e);
    }
  }

  /** Returns the number of received messages. */
  int received() {
    return received.get();
  }

  /** Waits for more messages than the given number; fails with an end that is not UNAVAILABLE. */
  void awaitMoreThan(int before, String when) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "messages of the stream of " + name + " " + when,
        () -> {
          if (failure.get() != null) {
            throw new AssertionError(
                "the stream of %s ended badly %s".formatted(name, when), failure.get());
          }
          return received.get() > before;
        });
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
