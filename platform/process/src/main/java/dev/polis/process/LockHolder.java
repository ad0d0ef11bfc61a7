package dev.polis.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
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
   * Finds another process that holds the lock of a file.
   *
   * @param own the process that may hold it
   * @return the process, such as {@code process 4711 (bbolt check /srv/db)}; empty if none holds
   *     it, or that cannot be read
   */
  public Optional<String> find(Path file, OptionalLong own) {
    try {
      String inode = ":" + Files.getAttribute(file, "unix:ino");
      for (String line : Files.readAllLines(proc.resolve("locks"))) {
        String[] columns = line.strip().split("\\s+");
        // "1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF"; one that waits has "->" in between.
        if (columns.length > FILE
            && columns[FILE].endsWith(inode)
            && !(own.isPresent() && columns[PID].equals(Long.toString(own.getAsLong())))) {
          return Optional.of(holder(columns[PID], file));
        }
      }
      return Optional.empty();
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  /**
   * Describes the holder. The process that took the lock may have ended and left it to a child, and
   * one of another PID namespace has no number here.
   */
  private String holder(String pid, Path file) {
    return command(proc.resolve(pid))
        .map(command -> "process %s (%s)".formatted(pid, command))
        .or(() -> opener(file))
        .orElse("a process of another PID namespace");
  }

  private Optional<String> opener(Path file) {
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[0-9]*")) {
      for (Path process : processes) {
        if (OpenFiles.of(process).contains(file.toString())) {
          return command(process)
              .map(command -> "process %s (%s)".formatted(process.getFileName(), command));
        }
      }
    } catch (IOException | DirectoryIteratorException unreadable) {
      return Optional.empty();
    }
    return Optional.empty();
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
