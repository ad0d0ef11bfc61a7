package dev.polis.process;

import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Runs the child processes of a node. What was started lives on when the manager ends, and the next
 * manager adopts it. Safe for any thread; calls for the same name wait for each other, even across
 * managers of the same directory.
 */
@ProviderType
public interface ProcessManager {
  /**
   * Opens a manager outside the framework, for tests and tools. Closing it leaves the processes
   * alone.
   *
   * @param directory where records and logs are, made if missing
   * @param logs where tails deliver to
   */
  static OpenManager open(Path directory, LogTree logs) {
    return new Processes(directory, logs, step -> {});
  }

  /** Lets its opener close the manager. */
  @ProviderType
  interface OpenManager extends ProcessManager, AutoCloseable {
    /** Ends watching; the processes live on. */
    @Override
    void close();
  }

  /**
   * Makes the wanted process run: adopts it if it does already, replaces one of this name that runs
   * from another spec, starts it otherwise. Safe to repeat. The process may end at any time after
   * that, also at once.
   *
   * @throws InterruptedException if interrupted, possibly after the start; the next call adopts
   * @throws ProcessException if it cannot be started, or the one to replace cannot be stopped
   */
  ManagedProcess ensure(ProcessSpec spec) throws InterruptedException;

  /** Returns the live process of this name that this manager started or adopted. */
  Optional<ManagedProcess> find(String name);

  /**
   * Returns whether a process of this name lives, no matter which code started it. A start that was
   * cut short is settled first, which takes a second at most.
   *
   * @throws InterruptedException if the wait is interrupted
   */
  boolean lives(String name) throws InterruptedException;

  /** Returns the file that a process of this name appends its output to; it may not exist yet. */
  Path log(String name);

  /** Returns all records, whether their processes live or not. */
  List<ProcessRecord> records();

  /**
   * Ends the process of this name, no matter which code started it, and all its descendants, and
   * deletes its record. Does nothing if there is none.
   *
   * @throws InterruptedException if the wait is interrupted
   * @throws ProcessException if something survives SIGKILL
   */
  void stop(String name) throws InterruptedException;

  /**
   * Opens a reader of a process's log, which begins where the last reader of this name stopped. Its
   * owner polls it and closes it. One reader at a time.
   *
   * @param dn the journal that gets the lines
   * @param converter reads the program's format; lines it does not know become raw entries
   */
  LogTail tail(ManagedProcess process, String dn, LineConverter converter);
}
