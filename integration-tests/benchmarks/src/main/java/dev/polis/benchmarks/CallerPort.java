package dev.polis.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Reads the observations of the calling bundle, in any container. */
final class CallerPort implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(120);
  private static final Duration PAUSE = Duration.ofMillis(20);

  private final Socket socket;
  private final PrintWriter questions;
  private final BufferedReader answers;

  /**
   * The observations since the previous question.
   *
   * @param gap the longest time without an answer, in nanoseconds
   * @param answered calls
   * @param failed calls
   * @param lost times that a user of the service had none
   * @param stopped other bundles that were stopped
   * @param wiredAnew other bundles that were wired anew
   * @param version that answered last
   */
  record Seen(
      long gap, long answered, long failed, int lost, int stopped, int wiredAnew, String version) {
    static Seen of(String line) {
      String[] words = line.split(" ", 7);
      return new Seen(
          Long.parseLong(words[0]),
          Long.parseLong(words[1]),
          Long.parseLong(words[2]),
          Integer.parseInt(words[3]),
          Integer.parseInt(words[4]),
          Integer.parseInt(words[5]),
          words[6]);
    }

    /** Joins the observations of two periods, this one first. */
    Seen and(Seen later) {
      return new Seen(
          Math.max(gap, later.gap),
          answered + later.answered,
          failed + later.failed,
          lost + later.lost,
          stopped + later.stopped,
          wiredAnew + later.wiredAnew,
          later.version);
    }
  }

  private CallerPort(Socket socket) throws IOException {
    this.socket = socket;
    this.questions = new PrintWriter(socket.getOutputStream(), true, StandardCharsets.US_ASCII);
    this.answers =
        new BufferedReader(
            new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
  }

  /** Returns a port that is free at this moment. */
  static int free() throws IOException {
    try (ServerSocket any = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return any.getLocalPort();
    }
  }

  /** Connects to the caller as soon as it listens. */
  static CallerPort open(int port) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      try {
        return new CallerPort(new Socket(InetAddress.getLoopbackAddress(), port));
      } catch (IOException notYet) {
        if (System.nanoTime() > deadline) {
          throw new IOException("no caller came up at port " + port, notYet);
        }
        IdleBenchmark.pass(PAUSE);
      }
    }
  }

  Seen next() throws IOException {
    questions.println("next");
    String line = answers.readLine();
    if (line == null) {
      throw new IOException("the caller has ended");
    }
    return Seen.of(line);
  }

  /** Waits until a version answers, and returns all observations of the wait. */
  Seen awaitVersion(String version) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    Seen all = next();
    while (!all.version().startsWith(version)) {
      if (System.nanoTime() > deadline) {
        throw new IOException(
            "version %s does not answer, %s does".formatted(version, all.version()));
      }
      IdleBenchmark.pass(PAUSE);
      all = all.and(next());
    }
    return all;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
