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

/** Reads /proc. A process may end between two reads; each method then answers that it is gone. */
final class Proc {
  /** The variable that marks a child and its descendants. */
  static final String TOKEN = "POLIS_PROCESS_TOKEN";

  private static final Path ROOT = Path.of("/proc");

  /**
   * An exec takes well below a millisecond, after which it is polled again. On a machine where
   * several processes wait for each core it may be suspended for some 10 ms, so the pause doubles
   * each time: a quarter of a second altogether.
   */
  private static final int EXEC_POLLS = 9;

  private static final long EXEC_NANOS = 1_000_000;

  private Proc() {}

  /**
   * Holds what is read of /proc/PID/stat.
   *
   * @param pid the process
   * @param state the kernel's letter
   * @param session id of its session
   * @param threads how many of its threads have not ended, or not been collected
   * @param startTicks clock ticks between boot and its start
   */
  record Stat(long pid, char state, long session, int threads, long startTicks) {
    /**
     * Zombies have ended; only their parent has not asked yet. But the state is that of the first
     * thread, and as long as there are others, the ports and files of the process are open.
     */
    boolean dead() {
      return state == 'X' || state == 'Z' && threads <= 1;
    }
  }

  static Path folder(long pid) {
    return ROOT.resolve(Long.toString(pid));
  }

  static Optional<Stat> stat(long pid) {
    return stat(folder(pid));
  }

  /** Reads it of the folder of a process, or of one of its threads. */
  static Optional<Stat> stat(Path folder) {
    String line;
    try {
      line = Files.readString(folder.resolve("stat"), StandardCharsets.ISO_8859_1);
    } catch (IOException gone) {
      return Optional.empty();
    }
    // The program's name stands in parentheses and may itself hold spaces and parentheses.
    String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ");
    // Counted from the state, which is field 3 in proc(5): session is 6, threads are 20, start time
    // is 22.
    return Optional.of(
        new Stat(
            Long.parseLong(folder.getFileName().toString()),
            fields[0].charAt(0),
            Long.parseLong(fields[3]),
            Integer.parseInt(fields[17]),
            Long.parseLong(fields[19])));
  }

  /** Returns whether this process, and not a later one with its id, is alive. */
  static boolean alive(Stat known) {
    return stat(known.pid())
        .filter(now -> now.startTicks() == known.startTicks() && !now.dead())
        .isPresent();
  }

  /** Returns whether the process belongs to the user that we run as. */
  static boolean isOurs(long pid) {
    try {
      return Files.getAttribute(ROOT.resolve(Long.toString(pid)), "unix:uid")
          .equals(Files.getAttribute(ROOT.resolve("self"), "unix:uid"));
    } catch (IOException gone) {
      return false;
    }
  }

  /** Returns when the process started, to the clock tick. */
  static Instant startInstant(long pid) {
    return ProcessHandle.of(pid)
        .flatMap(handle -> handle.info().startInstant())
        .orElseGet(Instant::now);
  }

  /** Reads the id of this boot once: a new boot is a new process. */
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

  /**
   * Returns the live processes whose environment holds the token, session leaders first, then by
   * age.
   */
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

  /** Returns whether the process was started with this token in its environment. */
  static boolean hasToken(long pid, String token) {
    return environment(pid).contains(TOKEN + "=" + token);
  }

  /**
   * Returns the environment as it is this moment, which is empty or cut off during an exec. The
   * files of /proc have no length, so {@code Files.readString} reads their first byte alone, and an
   * exec before its next read leaves just that byte.
   */
  private static String environ(Path process) throws IOException {
    try (InputStream in = new FileInputStream(process.resolve("environ").toFile())) {
      return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  /** Returns the variables that a process was started with; none if they cannot be read. */
  static List<String> environment(long pid) {
    Path process = ROOT.resolve(Long.toString(pid));
    try {
      String all = environ(process);
      for (int poll = 1; poll < EXEC_POLLS && !all.endsWith("\0"); poll++) {
        if (all.isEmpty() && !Files.exists(process.resolve("exe"))) {
          break; // a thread of the kernel
        }
        LockSupport.parkNanos(EXEC_NANOS << (poll - 1));
        all = environ(process);
      }
      return List.of(all.split("\0"));
    } catch (IOException goneOrNotOurs) {
      return List.of();
    }
  }
}
