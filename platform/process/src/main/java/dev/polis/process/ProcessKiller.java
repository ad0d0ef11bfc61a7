package dev.polis.process;

import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** Ends processes with SIGTERM, and with SIGKILL those that do not end in time. */
final class ProcessKiller {
  /** Twenty polls a second: a person takes that for at once. */
  private static final Duration POLL = Duration.ofMillis(50);

  /**
   * A killed process goes as soon as the kernel gets to it; only one stuck in the kernel (a dead
   * disk) needs longer.
   */
  private static final Duration KILL_PATIENCE = Duration.ofSeconds(5);

  /** Descendants get no more: their parent has had the time to end them in order. */
  private static final Duration LEFTOVER_GRACE = Duration.ofSeconds(1);

  private ProcessKiller() {}

  /** Ends one process. */
  static void end(Proc.Stat process, Duration grace) throws InterruptedException {
    end(() -> Proc.alive(process) ? List.of(process) : List.of(), grace);
  }

  /** Ends every process whose environment holds the token, also those started meanwhile. */
  static void endAll(String token) throws InterruptedException {
    end(() -> Proc.withToken(token), LEFTOVER_GRACE);
  }

  private static void end(Supplier<List<Proc.Stat>> targets, Duration grace)
      throws InterruptedException {
    targets.get().forEach(target -> signal(target, false));
    if (gone(targets, grace)) {
      return;
    }
    long end = System.nanoTime() + KILL_PATIENCE.toNanos();
    while (System.nanoTime() < end) {
      targets.get().forEach(target -> signal(target, true));
      if (gone(targets, POLL)) {
        return;
      }
    }
    throw new ProcessException(
        "%s still there %s after SIGKILL: stuck in the kernel, check its disk or mount"
            .formatted(targets.get(), KILL_PATIENCE));
  }

  private static boolean gone(Supplier<List<Proc.Stat>> targets, Duration within)
      throws InterruptedException {
    long end = System.nanoTime() + within.toNanos();
    while (!targets.get().isEmpty()) {
      long left = end - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      Thread.sleep(Duration.ofNanos(Math.min(left, POLL.toNanos())));
    }
    return true;
  }

  /** Sends a signal; the start time is checked too, so that a reused process id gets none. */
  private static void signal(Proc.Stat target, boolean kill) {
    ProcessHandle.of(target.pid())
        .filter(handle -> Proc.alive(target))
        .ifPresent(handle -> send(handle, kill));
  }

  private static void send(ProcessHandle handle, boolean kill) {
    if (kill) {
      handle.destroyForcibly();
    } else {
      handle.destroy();
    }
  }
}
