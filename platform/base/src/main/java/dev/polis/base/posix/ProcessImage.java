package dev.polis.base.posix;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Replaces the program that this process runs. */
public final class ProcessImage {

  /** The first descriptor after standard input, output and error. */
  private static final int FIRST_OTHER = 3;

  /** All bits set: the highest descriptor for close_range. */
  private static final int LAST = -1;

  /** CLOSE_RANGE_CLOEXEC of linux/close_range.h, since Linux 5.11. */
  private static final int CLOSE_ON_EXEC = 1 << 2;

  private ProcessImage() {}

  /**
   * Runs another program in this process, which keeps its process id, parent, environment, and
   * standard input, output and error. All other descriptors are closed. No shutdown hook runs.
   * Returns only by throwing.
   *
   * @param command the path of a program, and its arguments
   */
  public static void replace(List<String> command) throws PosixException {
    LibC.call(
        "close_range",
        List.of(FIRST_OTHER, "all", "close on exec"),
        (state, _) ->
            (int) LibC.Program.CLOSE_RANGE.invokeExact(state, FIRST_OTHER, LAST, CLOSE_ON_EXEC));
    LibC.call(
        "execv",
        List.of(command.getFirst()),
        (state, arena) -> {
          MemorySegment arguments = arena.allocate(ValueLayout.ADDRESS, command.size() + 1L);
          for (int i = 0; i < command.size(); i++) {
            arguments.setAtIndex(ValueLayout.ADDRESS, i, LibC.string(arena, command.get(i)));
          }
          arguments.setAtIndex(ValueLayout.ADDRESS, command.size(), MemorySegment.NULL);
          return (int)
              LibC.Program.EXECV.invokeExact(
                  state, arguments.getAtIndex(ValueLayout.ADDRESS, 0), arguments);
        });
  }
}
