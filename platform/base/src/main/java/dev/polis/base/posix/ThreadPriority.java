package dev.polis.base.posix;

import java.util.List;

/** Sets the share of a busy machine that a thread gets. */
public final class ThreadPriority {
  /** The argument PRIO_PROCESS: on Linux it selects a thread; number 0 is the calling one. */
  private static final int THREAD = 0;

  private ThreadPriority() {}

  /**
   * Lowers the priority of the calling platform thread for good. When all processors are busy, a
   * thread of niceness 10 gets about a tenth of the time of a thread of niceness 0; otherwise it
   * gets all it can use. Java's own priorities change nothing on Linux.
   *
   * @param nice 1 to 19, which is the lowest priority
   */
  public static void lower(int nice) throws PosixException {
    if (nice < 1 || nice > 19) {
      throw new IllegalArgumentException("niceness is %d; give 1 to 19".formatted(nice));
    }
    LibC.call(
        "setpriority",
        List.of(THREAD, 0, nice),
        (state, _) -> (int) LibC.Priority.SETPRIORITY.invokeExact(state, THREAD, 0, nice));
  }
}
