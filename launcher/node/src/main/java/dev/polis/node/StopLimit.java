package dev.polis.node;

import dev.polis.base.boot.OpenWait;
import dev.polis.node.BootProgress.Ending;
import dev.polis.node.exit.RootCause;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Ends a stop that does not end by itself: after a time it writes into the crash record which organ
 * hangs and what the threads do, and ends the process. What it needs for that is a thread of the
 * system: virtual threads may be what hangs.
 */
final class StopLimit implements AutoCloseable {
  /** The limit on which {@code polis down} and a service manager may rely. */
  static final Duration DEFAULT = Duration.ofSeconds(60);

  /** Those that stop and start the organs. */
  private static final List<String> NAMES = List.of("main", "boot");

  /** A terminal that takes no more lines, a pipe without a reader, must not keep the process. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  private final NodeDirectory directory;
  private final BootProgress progress;
  private final Duration limit;
  private final Terminal terminal;
  private final Runnable end;
  private final CountDownLatch stopped = new CountDownLatch(1);

  /**
   * Starts to count.
   *
   * @param end ends the process, however it hangs; called at most once
   */
  StopLimit(
      NodeDirectory directory,
      BootProgress progress,
      Duration limit,
      Terminal terminal,
      Runnable end) {
    this.directory = directory;
    this.progress = progress;
    this.limit = limit;
    this.terminal = terminal;
    this.end = end;
    Thread.ofPlatform().daemon().name("stop limit").start(this::watch);
  }

  private void watch() {
    try {
      if (stopped.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
        return;
      }
      report();
    } catch (InterruptedException e) {
      // No code interrupts it; if the JVM does, the process ends all the same.
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      e.printStackTrace();
    }
    if (stopped.getCount() > 0) {
      end.run();
    }
  }

  private void report() throws InterruptedException {
    Instant now = Instant.now();
    ThreadStacks stacks = ThreadStacks.take();
    List<OpenWait> open = progress.openWaits();
    String organ = open.isEmpty() ? "launcher" : hanging(open.getFirst());
    String cause =
        "its stop did not end within %d s%s; the process was ended"
            .formatted(
                limit.toSeconds(), stacks.carriers().isEmpty() ? "" : ": " + stacks.carriers());
    String more = "Waits: " + BootScreen.describe(open) + "\n\n" + stacks.text(NAMES);
    if (progress.endingNow() instanceof Ending.Fatal fatal) {
      // What stopped the node comes first.
      cause = RootCause.of(fatal.cause()) + "; then " + organ + ": " + cause;
      organ = fatal.organ();
    }
    String kept;
    try {
      Node.keepCrash(directory, FatalErrorReport.record(now, organ, cause, more));
      kept = "the stacks of its threads are in " + directory.crash();
    } catch (IOException e) {
      kept =
          "the node could not write %s (%s); the threads to examine:\n%s"
              .formatted(
                  directory.crash(), RootCause.of(e), String.join("\n\n", stacks.suspects(NAMES)));
    }
    List<String> words = List.of(kept, "polis: " + organ + ": " + cause);
    Thread.ofPlatform().daemon().start(() -> words.forEach(terminal::line)).join(LAST_WORDS);
  }

  private static String hanging(OpenWait oldest) {
    return oldest.name().startsWith(NodeFramework.STOP_OF)
        ? oldest.name().substring(NodeFramework.STOP_OF.length())
        : oldest.name();
  }

  /** Stops counting: the organs have stopped. */
  @Override
  public void close() {
    stopped.countDown();
  }
}
