package dev.polis.process;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Reads /proc. A process may end between any two reads; every method answers "not there" then. */
final class Proc {
  /** The variable by which a child and its descendants are known. */
  static final String TOKEN = "POLIS_PROCESS_TOKEN";

  private static final Path ROOT = Path.of("/proc");

  /**
   * An exec takes well below a millisecond, after which it is looked at again. On a machine where
   * several processes wait for each core it may be suspended in the midst for some 10 ms, so the
   * pause doubles each time: a quarter of a second altogether.
   */
  private static final int EXEC_LOOKS = 9;

  private static final long EXEC_NANOS = 1_000_000;

  private Proc() {}

  /**
   * A line of /proc/PID/stat.
   *
   * @param pid the process
   * @param state the kernel's letter
   * @param session id of its session
   * @param startTicks clock ticks between boot and its start
   */
  record Stat(long pid, char state, long session, long startTicks) {
    /** Zombies have ended; only their parent has not asked yet. */
    boolean dead() {
      return state == 'Z' || state == 'X';
    }
  }

  static Optional<Stat> stat(long pid) {
    String line;
    try {
      line = Files.readString(ROOT.resolve(pid + "/stat"), StandardCharsets.ISO_8859_1);
    } catch (IOException gone) {
      return Optional.empty();
    }
    // The program's name stands in parentheses and may itself hold spaces and parentheses.
    String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ");
    // Counted from the state, which is field 3 in proc(5): session is 6, start time is 22.
    return Optional.of(
        new Stat(pid, fields[0].charAt(0), Long.parseLong(fields[3]), Long.parseLong(fields[19])));
  }

  /** Whether this very process (not a later one with its id) is alive. */
  static boolean alive(Stat known) {
    return stat(known.pid())
        .filter(now -> now.startTicks() == known.startTicks() && !now.dead())
        .isPresent();
  }

  /** Whether the process belongs to the user that we run as. */
  static boolean isOurs(long pid) {
    try {
      return Files.getAttribute(ROOT.resolve(Long.toString(pid)), "unix:uid")
          .equals(Files.getAttribute(ROOT.resolve("self"), "unix:uid"));
    } catch (IOException gone) {
      return false;
    }
  }

  /** When the process started, as near as a clock tick. */
  static Instant startInstant(long pid) {
    return ProcessHandle.of(pid)
        .flatMap(handle -> handle.info().startInstant())
        .orElseGet(Instant::now);
  }

  /** Read once: a new boot is a new process. */
  private static final class Boot {
    static final String ID = read();

    private static String read() {
      try {
        return Files.readString(ROOT.resolve("sys/kernel/random/boot_id")).strip();
      } catch (IOException e) {
        throw new ProcessException(
            "cannot read /proc/sys/kernel/random/boot_id; is /proc mounted?", e);
      }
    }
  }

  static String bootId() {
    return Boot.ID;
  }

  /** The live processes whose environment holds the token, session leaders first, then by age. */
  static List<Stat> withToken(String token) {
    List<Stat> found = new ArrayList<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(ROOT, "[0-9]*")) {
      for (Path entry : all) {
        long pid = Long.parseLong(entry.getFileName().toString());
        if (hasToken(pid, token)) {
          stat(pid).filter(stat -> !stat.dead()).ifPresent(found::add);
        }
      }
    } catch (IOException e) {
      throw new ProcessException("cannot list /proc; is it mounted?", e);
    }
    found.sort(
        (a, b) ->
            leader(a) != leader(b)
                ? Boolean.compare(leader(b), leader(a))
                : Long.compare(a.startTicks(), b.startTicks()));
    return found;
  }

  private static boolean leader(Stat stat) {
    return stat.session() == stat.pid();
  }

  private static boolean hasToken(long pid, String token) {
    return environment(pid).contains(TOKEN + "=" + token);
  }

  /**
   * The environment as it is this moment: empty, or cut off, in the midst of an exec. The files of
   * /proc have no length, for which {@code Files.readString} reads their first byte alone: an exec
   * before the next read leaves just that byte.
   */
  private static String environ(Path process) throws IOException {
    try (InputStream in = new FileInputStream(process.resolve("environ").toFile())) {
      return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  /** The variables that a process was started with; none if it is gone or not ours to read. */
  static List<String> environment(long pid) {
    Path process = ROOT.resolve(Long.toString(pid));
    try {
      String all = environ(process);
      for (int look = 1; look < EXEC_LOOKS && !all.endsWith("\0"); look++) {
        if (all.isEmpty() && !Files.exists(process.resolve("exe"))) {
          break; // a thread of the kernel
        }
        LockSupport.parkNanos(EXEC_NANOS << (look - 1));
        all = environ(process);
      }
      return List.of(all.split("\0"));
    } catch (IOException goneOrNotOurs) {
      return List.of();
    }
  }
}
