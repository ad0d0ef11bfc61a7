package dev.polis.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Starts a process, and measures the time until it prints a line. */
final class Timed implements AutoCloseable {

  /** Ten times the slowest observed start. */
  private static final int PATIENCE_SECONDS = 120;

  private final List<String> lines = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch seen = new CountDownLatch(1);
  private final Process process;
  private final long began;
  private volatile long nanos; // 0 until the line appears

  private Timed(Process process, long began, String awaited) {
    this.process = process;
    this.began = began;
    // A virtual thread that reads a pipe occupies its carrier; with few cores, others would wait.
    Thread.ofPlatform().daemon().name("output of " + process.pid()).start(() -> read(awaited));
  }

  /**
   * Starts a process.
   *
   * @param awaited the beginning of the line that ends the measured time; empty for the end of the
   *     output
   */
  static Timed start(List<String> command, String awaited) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    long began = System.nanoTime();
    return new Timed(builder.start(), began, awaited);
  }

  /** Runs a process to its end, and requires success. */
  static long run(List<String> command) throws IOException, InterruptedException {
    try (Timed timed = start(command, "")) {
      long nanos = timed.await();
      if (timed.process.waitFor() != 0) {
        throw new IOException(command + " failed: " + timed.lines);
      }
      return nanos;
    }
  }

  private void read(String awaited) {
    try (BufferedReader reader = process.inputReader()) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        lines.add(line);
        if (!awaited.isEmpty() && line.startsWith(awaited)) {
          arrived();
        }
      }
      if (awaited.isEmpty()) {
        arrived();
      }
    } catch (IOException e) {
      lines.add("its output ended: " + e.getMessage());
    } finally {
      seen.countDown();
    }
  }

  private void arrived() {
    nanos = System.nanoTime() - began;
    seen.countDown();
  }

  /** Waits for the line, and returns the nanoseconds from the start to the line. */
  long await() throws IOException, InterruptedException {
    if (!seen.await(PATIENCE_SECONDS, TimeUnit.SECONDS) || nanos == 0) {
      throw new IOException("this did not come so far as it should: " + String.join("\n", lines));
    }
    return nanos;
  }

  long pid() {
    return process.pid();
  }

  List<String> lines() {
    return List.copyOf(lines);
  }

  /** Asks it to end, and waits until it has. */
  void terminate() throws InterruptedException {
    process.destroy();
    process.waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
