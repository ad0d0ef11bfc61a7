package dev.polis.process;

import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** Ends processes: SIGTERM, patience, SIGKILL. */
final class ProcessKiller {
  /** Twenty looks a second: a stop is noticed within what a person calls at once. */
  private static final Duration LOOK = Duration.ofMillis(50);

  /**
   * A killed process goes as soon as the kernel gets to it; only one stuck in the kernel (a dead
   * disk) needs longer.
   */
  private static final Duration KILL_PATIENCE = Duration.ofSeconds(5);

  /** Descendants get no more: their parent has had its grace to end them properly. */
  private static final Duration LEFTOVER_GRACE = Duration.ofSeconds(1);

  private ProcessKiller() {}

  /** Ends one process. */
  static void end(Proc.Stat process, Duration grace) throws InterruptedException {
    end(() -> Proc.alive(process) ? List.of(process) : List.of(), grace);
  }

  /** Ends whatever carries the token, also what is started meanwhile. */
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
      if (gone(targets, LOOK)) {
        return;
      }
    }
    throw new ProcessException(
        "%s still there %s after SIGKILL: stuck in the kernel, look at its disk or mount"
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
      Thread.sleep(Duration.ofNanos(Math.min(left, LOOK.toNanos())));
    }
    return true;
  }

  /** The handle checks the start time too, so that a reused process id is not hit. */
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
