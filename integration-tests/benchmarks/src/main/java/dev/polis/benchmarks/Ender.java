package dev.polis.benchmarks;

import java.io.IOException;
import java.io.InterruptedIOException;

/**
 * Ends processes once: at the close of their owner, or when a signal ends this process before.
 * Further closes wait for that end.
 */
final class Ender implements AutoCloseable {

  /** Ends the processes. */
  @FunctionalInterface
  interface End {
    void run() throws IOException, InterruptedException;
  }

  private final String what;
  private final End end;
  private final Thread hook;
  private boolean done; // guarded by this

  private Ender(String what, End end) {
    this.what = what;
    this.end = end;
    this.hook = new Thread(this::endQuietly, "end of " + what);
  }

  /**
   * Registers an end for a signal.
   *
   * @param what the processes, for messages
   */
  static Ender of(String what, End end) {
    Ender ender = new Ender(what, end);
    Runtime.getRuntime().addShutdownHook(ender.hook);
    return ender;
  }

  private void endQuietly() {
    try {
      endOnce();
    } catch (IOException | InterruptedException e) {
      System.err.println(what + " may still run: " + e.getMessage());
    }
  }

  private synchronized void endOnce() throws IOException, InterruptedException {
    if (!done) {
      done = true;
      end.run();
    }
  }

  @Override
  public void close() throws IOException {
    try {
      endOnce();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while this was ended: " + what);
    }
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      // The hook runs, and finds that all has ended.
      return;
    }
  }
}
