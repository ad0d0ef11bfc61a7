package dev.polis.process;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Lists and ends a node's children while the node does not run. */
public final class ProcessRecords {
  private ProcessRecords() {}

  /**
   * Reads all records of a directory, in order of name; returns none if there is no directory.
   *
   * @throws ProcessException if a record cannot be read
   */
  public static List<ProcessRecord> list(Path directory) {
    return new ProcessFiles(directory).readAll();
  }

  /**
   * Returns the names and numbers of the processes of a directory that are alive, for people; empty
   * if there are none.
   *
   * @throws ProcessException if a record cannot be read
   */
  public static String alive(Path directory) {
    return list(directory).stream()
        .filter(ProcessRecord::alive)
        .map(record -> "%s (process %d)".formatted(record.name(), record.pid()))
        .collect(Collectors.joining(", "));
  }

  /**
   * Ends each recorded process with all its descendants, also those of interrupted starts, and
   * removes the records, unless their file system is read-only.
   *
   * @return the records of the live ones
   * @throws InterruptedException if interrupted; the rest continues and keeps its records
   * @throws ProcessException if a process survives SIGKILL
   */
  public static List<ProcessRecord> stopAll(Path directory) throws InterruptedException {
    ProcessFiles files = new ProcessFiles(directory);
    List<ProcessRecord> stopped = new ArrayList<>();
    for (ProcessRecord seen : files.readAll()) {
      try (var _ = files.lock(seen.name())) {
        for (ProcessRecord record : files.read(seen.name()).stream().toList()) {
          if (stop(record)) {
            stopped.add(record);
          }
          files.forgetEnded(record.name());
        }
      }
    }
    return stopped;
  }

  /** Ends the process with all its descendants; returns whether any was alive. */
  static boolean stop(ProcessRecord record) throws InterruptedException {
    boolean alive = record.alive() || record.findStarted().isPresent();
    stopMain(record);
    ProcessKiller.endAll(record.token());
    return alive;
  }

  /** Ends the process without its descendants. */
  static void stopMain(ProcessRecord record) throws InterruptedException {
    if (record.alive()) {
      ProcessKiller.end(main(record), record.stopSignal(), record.grace());
    }
  }

  /**
   * Signals the process alone to end, and kills it after the grace; does not wait for one that is
   * stuck in the kernel. Its record stays.
   */
  public static void end(ProcessRecord record, Duration grace) throws InterruptedException {
    if (record.alive()) {
      ProcessKiller.end(
          ProcessKiller.only(main(record)), record.stopSignal(), grace, Duration.ZERO);
    }
  }

  private static Proc.Stat main(ProcessRecord record) {
    return new Proc.Stat(record.pid(), 'S', record.pid(), 1, record.startTicks());
  }
}
