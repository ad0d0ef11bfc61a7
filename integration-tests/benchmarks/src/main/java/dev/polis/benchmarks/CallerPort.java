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

/** Asks the bundle that calls, in whatever container it is, what it has seen. */
final class CallerPort implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(120);
  private static final Duration PAUSE = Duration.ofMillis(20);

  private final Socket socket;
  private final PrintWriter questions;
  private final BufferedReader answers;

  /**
   * What was seen since the question before.
   *
   * @param gap the longest time without an answer, in nanoseconds
   * @param answered calls
   * @param failed calls
   * @param lost how often a user of the service was left without any
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

    /** Joins what was seen in two stretches of time, this one first. */
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

  /** Returns a port that nobody uses at this moment. */
  static int free() throws IOException {
    try (ServerSocket any = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return any.getLocalPort();
    }
  }

  /** Connects to the caller as soon as it is there. */
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

  /** Waits until a version answers, and returns everything that was seen meanwhile. */
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
