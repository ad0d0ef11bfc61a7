package dev.polis.process;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Ends processes with their stop signal, and with SIGKILL after their grace. */
final class ProcessKiller {
  /** The interval of twenty polls a second, which a person does not notice. */
  private static final Duration POLL = Duration.ofMillis(50);

  /**
   * The time for a killed process to end; only a process stuck in the kernel (a dead disk) needs
   * longer.
   */
  private static final Duration KILL_PATIENCE = Duration.ofSeconds(5);

  /** The grace of descendants: their parent has had the time to end them. */
  private static final Duration LEFTOVER_GRACE = Duration.ofSeconds(1);

  /** The time for a shell, which starts in milliseconds, on a very busy machine. */
  private static final Duration SHELL = Duration.ofSeconds(10);

  private ProcessKiller() {}

  /** Ends one process. */
  static void end(Proc.Stat process, StopSignal signal, Duration grace)
      throws InterruptedException {
    require(only(process), signal, grace);
  }

  /** Returns this process while it lives, and not a later one with its id. */
  static Supplier<List<Proc.Stat>> only(Proc.Stat process) {
    return () -> Proc.alive(process) ? List.of(process) : List.of();
  }

  /** Ends each process with the token in its environment, also those started meanwhile. */
  static void endAll(String token) throws InterruptedException {
    require(() -> Proc.withToken(token), StopSignal.TERM, LEFTOVER_GRACE);
  }

  private static void require(Supplier<List<Proc.Stat>> targets, StopSignal signal, Duration grace)
      throws InterruptedException {
    if (!end(targets, signal, grace, KILL_PATIENCE)) {
      throw new ProcessException(
          "%s still there %s after SIGKILL: stuck in the kernel, check its disk or mount"
              .formatted(targets.get(), KILL_PATIENCE));
    }
  }

  /**
   * Signals processes to end, and kills the rest after the grace, also those started meanwhile;
   * without a grace it kills at once.
   *
   * @param patience the time for killed processes to end
   * @return whether all are gone
   */
  static boolean end(
      Supplier<List<Proc.Stat>> targets, StopSignal signal, Duration grace, Duration patience)
      throws InterruptedException {
    if (grace.isPositive()) {
      for (Proc.Stat target : targets.get()) {
        ask(target, signal);
      }
      if (gone(targets, grace)) {
        return true;
      }
    }
    long end = System.nanoTime() + patience.toNanos();
    do {
      targets.get().forEach(ProcessKiller::kill);
      if (gone(targets, POLL)) {
        return true;
      }
    } while (System.nanoTime() - end < 0);
    return false;
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

  private static void kill(Proc.Stat target) {
    handle(target).ifPresent(ProcessHandle::destroyForcibly);
  }

  private static void ask(Proc.Stat target, StopSignal signal) throws InterruptedException {
    Optional<ProcessHandle> handle = handle(target);
    if (handle.isPresent() && signal == StopSignal.TERM) {
      handle.get().destroy();
    } else if (handle.isPresent()) {
      send(target.pid(), signal);
    }
  }

  /** Finds a process and checks its start time, so that a reused process id gets no signal. */
  private static Optional<ProcessHandle> handle(Proc.Stat target) {
    return ProcessHandle.of(target.pid()).filter(handle -> Proc.alive(target));
  }

  /**
   * Sends a signal that Java cannot send, with the shell's own kill, since some machines lack the
   * program.
   */
  private static void send(long pid, StopSignal signal) throws InterruptedException {
    try {
      new Commands()
          .run(SHELL, List.of("sh", "-c", "kill -s \"$0\" \"$1\"", signal.name(), "" + pid));
    } catch (IOException e) {
      throw new ProcessException(
          "cannot send SIG%s to process %d: %s".formatted(signal, pid, e.getMessage()), e);
    }
  }
}
