package dev.polis.process;

import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Runs the child processes of a node. They survive the end of the manager, and the next manager
 * adopts them. It is safe for any thread; calls for the same name wait for each other, even across
 * managers of the same directory.
 */
@ProviderType
public interface ProcessManager {
  /**
   * Opens a manager outside the framework, for tests and tools. Its close leaves the processes
   * running.
   *
   * @param directory the directory of records and logs, made if missing
   * @param logs receives the lines of the tails
   */
  static OpenManager open(Path directory, LogTree logs) {
    return new Processes(directory, logs, step -> {});
  }

  /** Lets its opener close the manager. */
  @ProviderType
  interface OpenManager extends ProcessManager, AutoCloseable {
    /** Ends the watch; the processes continue. */
    @Override
    void close();
  }

  /**
   * Ensures that the wanted process runs: adopts a running one, replaces one of this name with
   * another spec, or starts it. A repeated call is safe. The process may end at any time
   * afterwards.
   *
   * @throws InterruptedException if interrupted, possibly after the start; the next call adopts
   * @throws ProcessException if the process cannot be started, or the replaced one cannot be
   *     stopped
   */
  ManagedProcess ensure(ProcessSpec spec) throws InterruptedException;

  /** Returns the live process of this name from this manager. */
  Optional<ManagedProcess> find(String name);

  /**
   * Returns whether a process of this name lives, whichever code started it. It first completes an
   * interrupted start, which takes a second at most.
   *
   * @throws InterruptedException if the wait is interrupted
   */
  boolean lives(String name) throws InterruptedException;

  /** Returns the log file of a process of this name, which may not exist yet. */
  Path log(String name);

  /** Returns all records, also those of ended processes. */
  List<ProcessRecord> records();

  /**
   * Writes the missing records of this manager's live processes again. Without its record, a
   * process would neither be adopted by the next manager nor be ended by a stop.
   *
   * @return the names of these processes
   * @throws InterruptedException if interrupted; the next call continues
   * @throws ProcessException if a record cannot be written
   */
  List<String> restoreRecords() throws InterruptedException;

  /**
   * Ends the process of this name with all its descendants, whichever code started it, and deletes
   * its record. It does nothing if there is none.
   *
   * @throws InterruptedException if the wait is interrupted
   * @throws ProcessException if a process survives SIGKILL
   */
  void stop(String name) throws InterruptedException;

  /**
   * Opens a reader of a process's log, which begins at the end of the last reader of this name. Its
   * owner polls and closes it. Only one reader may exist at a time.
   *
   * @param dn the journal that gets the lines
   * @param converter reads the program's format; unknown lines become raw entries
   */
  LogTail tail(ManagedProcess process, String dn, LineConverter converter);
}
