package dev.polis.base.posix;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/** Reads the state of file systems that the JDK does not show. */
public final class FileSystems {

  /** The size of the structure statvfs, in sys/statvfs.h of 64-bit systems. */
  private static final long STATVFS_BYTES = 112;

  /** The place of f_files: the number of files that the file system can hold. */
  private static final long FILES = 40;

  /** The place of f_favail: the number of files that a user without rights can still make. */
  private static final long FREE_FILES = 56;

  private FileSystems() {}

  /**
   * Returns the number of files that can still be made in a directory.
   *
   * @return empty if the file system has no fixed number of files
   */
  public static OptionalLong freeFiles(Path directory) throws PosixException {
    long[] found = new long[2];
    LibC.call(
        "statvfs",
        List.of(directory),
        (state, arena) -> {
          MemorySegment answer = arena.allocate(STATVFS_BYTES, Long.BYTES);
          int result =
              (int)
                  LibC.FileSystem.STATVFS.invokeExact(state, LibC.string(arena, directory), answer);
          found[0] = answer.get(JAVA_LONG, FILES);
          found[1] = answer.get(JAVA_LONG, FREE_FILES);
          return result;
        });
    return found[0] == 0 ? OptionalLong.empty() : OptionalLong.of(found[1]);
  }
}
