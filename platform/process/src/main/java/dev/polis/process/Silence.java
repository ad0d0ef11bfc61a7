package dev.polis.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Measures the time since a child process last answered, and describes its state in the kernel.
 * Belongs to one thread.
 */
public final class Silence {

  private final ReadyProbe answers;
  private long heard = System.nanoTime();

  /**
   * Begins as if the process had just answered.
   *
   * @param answers checks whether the process answers
   */
  public Silence(ReadyProbe answers) {
    this.answers = answers;
  }

  /**
   * Checks once.
   *
   * @return the time since its last answer; zero if it answered now
   * @throws InterruptedException if interrupted during the check
   */
  public Duration ask() throws InterruptedException {
    if (answers.ready()) {
      heard = System.nanoTime();
      return Duration.ZERO;
    }
    return Duration.ofNanos(System.nanoTime() - heard);
  }

  /** Returns whether a signal or a debugger has stopped a process, so that it cannot answer. */
  public static boolean stopped(long pid) {
    return Proc.stat(pid).filter(stat -> stat.state() == 'T' || stat.state() == 't').isPresent();
  }

  /**
   * Returns what a thread of a process waits for that no signal ends, as a clause; empty if none
   * does now.
   */
  public static Optional<String> stuck(long pid) {
    return sleeper(Proc.folder(pid));
  }

  /**
   * Returns the text for people: the process, the time of its silence, and its state in the kernel.
   *
   * @param pid empty if there is none
   */
  public static String text(String name, Optional<Long> pid, Duration silence) {
    return "%s%s has not answered for %d s%s"
        .formatted(
            name,
            pid.map(found -> " (pid " + found + ")").orElse(""),
            silence.toSeconds(),
            pid.map(found -> kernel(Proc.folder(found))).orElse(""));
  }

  /** Returns the state of a process in the kernel, as a clause that follows another. */
  static String kernel(Path process) {
    return Proc.stat(process)
        .map(
            stat ->
                switch (stat.state()) {
                  case 'T' ->
                      ": a signal has stopped it (state T); \"kill -CONT %d\" continues it"
                          .formatted(stat.pid());
                  case 't' -> ": a debugger has stopped it (state t)";
                  case 'Z' ->
                      ": it has ended but for a thread that the kernel cannot end (state Z)";
                  default -> ": " + sleeper(process).orElse("it runs (state " + stat.state() + ")");
                })
        .orElse(": it has ended");
  }

  /** Finds a thread that waits for a device or a file system, which no signal wakes. */
  private static Optional<String> sleeper(Path process) {
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(process.resolve("task"))) {
      for (Path thread : threads) {
        if (Proc.stat(thread).filter(stat -> stat.state() == 'D').isPresent()) {
          return Optional.of(
              "a thread of it waits for a device or a file system (state D%s), and no signal ends that"
                  .formatted(waitsIn(thread)));
        }
      }
    } catch (IOException gone) {
      // The process ends at this moment, which its status shows.
    }
    return Optional.empty();
  }

  /** Returns the kernel function in which a thread waits; only root may read it. */
  private static String waitsIn(Path thread) {
    try {
      String function =
          new String(Files.readAllBytes(thread.resolve("wchan")), StandardCharsets.US_ASCII);
      return function.isEmpty() || function.equals("0") ? "" : " in " + function;
    } catch (IOException unreadable) {
      return "";
    }
  }
}
