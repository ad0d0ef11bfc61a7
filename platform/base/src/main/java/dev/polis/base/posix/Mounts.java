package dev.polis.base.posix;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Mounts and unmounts file systems, and lists the mounts of this process's namespace. */
public final class Mounts {

  /** From sys/mount.h: do not follow a symbolic link at the target. */
  private static final int UMOUNT_NOFOLLOW = 8;

  /** Options of mount(2), by their values in linux/mount.h. */
  private static final Map<String, Long> FLAGS =
      Map.of("ro", 0x1L, "nosuid", 0x2L, "nodev", 0x4L, "noexec", 0x8L);

  private static final Path TABLE = Path.of("/proc/self/mountinfo");

  /**
   * Is a mounted file system.
   *
   * @param point the mount point
   * @param type the file system, such as {@code xfs} or {@code fuse.gocryptfs}
   * @param source the device, or the origin in the file system's own form
   */
  public record Mount(Path point, String type, String source) {}

  private Mounts() {}

  /**
   * Mounts a file system.
   *
   * @param source device, or any word for file systems without one
   * @param target an existing directory
   * @param type the file system, such as {@code xfs}
   * @param options as in mount(8), such as {@code noexec}; those that the kernel does not know
   *     itself are passed to the file system
   */
  public static void mount(String source, Path target, String type, List<String> options)
      throws PosixException {
    long flags = 0;
    List<String> data = new ArrayList<>();
    for (String option : options) {
      Long flag = FLAGS.get(option);
      if (flag == null) {
        data.add(option);
      } else {
        flags |= flag;
      }
    }
    mount(source, target, type, flags, data);
  }

  private static void mount(String source, Path target, String type, long flags, List<String> data)
      throws PosixException {
    LibC.call(
        "mount",
        List.of(source, target, type, "0x" + Long.toHexString(flags), String.join(",", data)),
        (state, arena) ->
            (int)
                LibC.Mount.MOUNT.invokeExact(
                    state,
                    LibC.string(arena, source),
                    LibC.string(arena, target),
                    LibC.string(arena, type),
                    flags,
                    LibC.string(arena, String.join(",", data))));
  }

  /** Unmounts the topmost mount of a directory. */
  public static void unmount(Path target) throws PosixException {
    LibC.call(
        "umount",
        List.of(target),
        (state, arena) ->
            (int)
                LibC.Mount.UMOUNT2.invokeExact(state, LibC.string(arena, target), UMOUNT_NOFOLLOW));
  }

  /**
   * Lists the mounts in the order of their creation. It omits a mount point whose name no {@link
   * Path} can have.
   */
  public static List<Mount> list() throws IOException {
    return parse(Files.readAllBytes(TABLE));
  }

  /** Returns the topmost mount of a directory. */
  public static Optional<Mount> at(Path point) throws IOException {
    return list().stream()
        .filter(mount -> mount.point().equals(point))
        .reduce((below, above) -> above);
  }

  /** Parses lines in the form of proc_pid_mountinfo(5). */
  public static List<Mount> parse(List<String> lines) {
    return parse(String.join("\n", lines).getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Parses the kernel's table: a name has any bytes, in no encoding, and the kernel escapes newline
   * as the only line end.
   */
  static List<Mount> parse(byte[] table) {
    return Arrays.stream(new String(table, StandardCharsets.ISO_8859_1).split("\n"))
        .flatMap(line -> parse(line).stream())
        .toList();
  }

  private static Optional<Mount> parse(String line) {
    List<String> fields = List.of(line.split(" "));
    // Optional fields precede the hyphen, so the fields after it have no fixed place.
    int separator = fields.indexOf("-");
    if (separator < 5 || fields.size() < separator + 3) {
      throw new IllegalArgumentException("no line of mountinfo: " + line);
    }
    return path(unescape(fields.get(4)))
        .map(
            point ->
                new Mount(
                    point,
                    text(unescape(fields.get(separator + 1))),
                    text(unescape(fields.get(separator + 2)))));
  }

  private static Optional<Path> path(byte[] name) {
    try {
      ByteBuffer bytes = ByteBuffer.wrap(name);
      return Optional.of(Path.of(StandardCharsets.UTF_8.newDecoder().decode(bytes).toString()));
    } catch (CharacterCodingException | InvalidPathException noPath) {
      return Optional.empty();
    }
  }

  private static String text(byte[] field) {
    return new String(field, StandardCharsets.UTF_8);
  }

  /**
   * Decodes a field in which each character is a byte. The kernel writes blank, tab, newline and
   * backslash as a backslash and three octal digits.
   */
  static byte[] unescape(String field) {
    ByteArrayOutputStream plain = new ByteArrayOutputStream(field.length());
    for (int at = 0; at < field.length(); at++) {
      if (field.charAt(at) == '\\' && at + 3 < field.length()) {
        plain.write(Integer.parseInt(field, at + 1, at + 4, 8));
        at += 3;
      } else {
        plain.write(field.charAt(at));
      }
    }
    return plain.toByteArray();
  }
}
