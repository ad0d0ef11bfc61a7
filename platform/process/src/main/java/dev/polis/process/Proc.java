package dev.polis.process;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Reads /proc. A process may end between two reads; then each method reports it as gone. */
final class Proc {
  /** The variable that marks a child and its descendants. */
  static final String TOKEN = "POLIS_PROCESS_TOKEN";

  private static final Path ROOT = Path.of("/proc");

  /**
   * The longest wait for an exec, which takes well below a millisecond. On a busy machine it may be
   * suspended for some 10 ms, so each pause between polls is twice the one before.
   */
  private static final Duration EXEC = Duration.ofMillis(255);

  private static final Duration EXEC_POLL = Duration.ofMillis(1);

  private Proc() {}

  /**
   * Holds the fields of /proc/PID/stat.
   *
   * @param pid the process
   * @param state the kernel's letter
   * @param session id of its session
   * @param threads the number of its threads that have not ended, or not been collected
   * @param startTicks clock ticks between boot and its start
   */
  record Stat(long pid, char state, long session, int threads, long startTicks) {
    /**
     * Returns whether the process has ended, as a zombie has. The state is that of the first
     * thread; while there are others, the ports and files of the process are open.
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

  /** Reads the fields from the folder of a process or of one of its threads. */
  static Optional<Stat> stat(Path folder) {
    String line;
    try {
      line = Files.readString(folder.resolve("stat"), StandardCharsets.ISO_8859_1);
    } catch (IOException gone) {
      return Optional.empty();
    }
    // The program's name is in parentheses and may contain spaces and parentheses.
    String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ");
    // Counted from the state, which is field 3 in proc(5): the session is field 6, threads 20,
    // start time 22.
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

  /** Returns whether the process belongs to the user of this process. */
  static boolean isOurs(long pid) {
    try {
      return Files.getAttribute(ROOT.resolve(Long.toString(pid)), "unix:uid")
          .equals(Files.getAttribute(ROOT.resolve("self"), "unix:uid"));
    } catch (IOException gone) {
      return false;
    }
  }

  /** Returns the start time of the process, exact to the clock tick. */
  static Instant startInstant(long pid) {
    return ProcessHandle.of(pid)
        .flatMap(handle -> handle.info().startInstant())
        .orElseGet(Instant::now);
  }

  /** Reads the id of this boot once, since it never changes for a process. */
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
   * Returns the live processes with the token in their environment, session leaders first, then by
   * age.
   */
  static List<Stat> withToken(String token) {
    return withVariable(TOKEN + "=" + token);
  }

  /**
   * Returns the live processes that were started with this variable, in the order of {@link
   * #withToken}.
   */
  static List<Stat> withVariable(String variable) {
    List<Stat> found = new ArrayList<>();
    for (long pid : startedWith(variable, pids())) {
      stat(pid).filter(stat -> !stat.dead()).ifPresent(found::add);
    }
    found.sort(
        (a, b) ->
            leader(a) != leader(b)
                ? Boolean.compare(leader(b), leader(a))
                : Long.compare(a.startTicks(), b.startTicks()));
    return found;
  }

  /** Returns the ids of all processes. */
  static List<Long> pids() {
    try {
      return folders(ROOT).stream()
          .map(folder -> Long.parseLong(folder.getFileName().toString()))
          .toList();
    } catch (IOException e) {
      throw new ProcessException("cannot list /proc; is it mounted?", e);
    }
  }

  /** Returns the folders of all processes in {@code /proc} or a copy of it. */
  static List<Path> folders(Path proc) throws IOException {
    List<Path> all = new ArrayList<>();
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(proc, "[0-9]*")) {
      folders.forEach(all::add);
      return all;
    } catch (DirectoryIteratorException unreadable) {
      throw unreadable.getCause();
    }
  }

  private static boolean leader(Stat stat) {
    return stat.session() == stat.pid();
  }

  /** Returns whether the process was started with this token in its environment. */
  static boolean hasToken(long pid, String token) {
    return !startedWith(TOKEN + "=" + token, List.of(pid)).isEmpty();
  }

  /**
   * Returns the processes of a list that were started with this variable. A process with an empty
   * or cut environment may be in the middle of an exec, or have none. This method waits for all
   * such processes together, so that many take no longer than one.
   */
  static List<Long> startedWith(String variable, List<Long> pids) {
    List<Long> found = new ArrayList<>();
    Predicate<Long> decided =
        pid -> {
          String environment = environ(pid);
          boolean has = ("\0" + environment).contains("\0" + variable + "\0");
          if (has) {
            found.add(pid);
          }
          return has || !mayBeCutOff(pid, environment);
        };
    List<Long> undecided = new ArrayList<>(pids);
    undecided.removeIf(decided);
    long end = System.nanoTime() + EXEC.toNanos();
    Duration pause = EXEC_POLL;
    for (boolean last = false; !last && !undecided.isEmpty(); pause = pause.multipliedBy(2)) {
      LockSupport.parkNanos(pause.toNanos());
      last = System.nanoTime() >= end;
      undecided.removeIf(decided);
    }
    return found;
  }

  /**
   * Returns whether a process may be in an exec, unlike a kernel thread or another user's process,
   * which also show no program.
   */
  private static boolean mayBeCutOff(long pid, String environment) {
    return environment.isEmpty()
        ? Files.exists(folder(pid).resolve("exe"))
        : !environment.endsWith("\0");
  }

  /**
   * Returns the present environment, which is empty or cut off during an exec, and empty if it is
   * unreadable. The files of /proc have no length, so {@code Files.readString} first reads one
   * byte, and an exec before its next read leaves only that byte.
   */
  private static String environ(long pid) {
    try (InputStream in = new FileInputStream(folder(pid).resolve("environ").toFile())) {
      return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (IOException goneOrNotOurs) {
      return "";
    }
  }
}
