package dev.polis.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Finds the process that holds a file locked in {@code /proc}. Stateless; safe for any thread. */
public final class LockHolder {

  private static final int PID = 4;
  private static final int FILE = 5;

  private final Path proc;

  LockHolder(Path proc) {
    this.proc = proc;
  }

  /** Creates a reader of this machine's table. */
  public LockHolder() {
    this(Path.of("/proc"));
  }

  /**
   * Is a locked file.
   *
   * @param holder the process that holds the lock, such as {@code process 4711 (bbolt check
   *     /srv/db)}
   */
  public record Lock(Path file, String holder) {}

  /**
   * Finds the first of some files that another process has locked.
   *
   * @param own the process that may have locked them
   * @return empty if no other has, or that cannot be read
   */
  public Optional<Lock> find(List<Path> files, OptionalLong own) {
    try {
      List<String> locks = Files.readAllLines(proc.resolve("locks"));
      return files.stream().flatMap(file -> find(locks, file, own).stream()).findFirst();
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private Optional<Lock> find(List<String> locks, Path file, OptionalLong own) {
    try {
      String inode = ":" + Files.getAttribute(file, "unix:ino");
      // "1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF"; one that waits has "->" in between.
      return locks.stream()
          .map(line -> line.strip().split("\\s+"))
          .filter(columns -> columns.length > FILE && columns[FILE].endsWith(inode))
          .map(columns -> columns[PID])
          .filter(pid -> own.isEmpty() || !pid.equals(Long.toString(own.getAsLong())))
          .findFirst()
          .map(pid -> new Lock(file, holder(pid, file)));
    } catch (IOException gone) {
      return Optional.empty();
    }
  }

  /**
   * Describes the holder. The process that took the lock may have ended and left it to a child, and
   * one of another PID namespace has no number here.
   */
  private String holder(String pid, Path file) {
    return described(proc.resolve(pid))
        .or(() -> opener(file))
        .orElse("a process of another PID namespace");
  }

  private Optional<String> opener(Path file) {
    try {
      return OpenFiles.holder(proc, file.toString()).flatMap(LockHolder::described);
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private static Optional<String> described(Path process) {
    return command(process)
        .map(command -> "process %s (%s)".formatted(process.getFileName(), command));
  }

  private static Optional<String> command(Path process) {
    try {
      byte[] line = Files.readAllBytes(process.resolve("cmdline"));
      String words =
          String.join(" ", List.of(new String(line, StandardCharsets.UTF_8).split("\0")));
      return Optional.of(LastWords.shown(words)).filter(text -> !text.isBlank());
    } catch (IOException gone) {
      return Optional.empty();
    }
  }
}
