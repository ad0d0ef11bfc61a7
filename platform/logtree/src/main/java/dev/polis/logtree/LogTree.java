package dev.polis.logtree;

import java.util.List;
import java.util.SortedSet;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Gives access to the journals of a node by distinguished name. Safe for use by any thread.
 *
 * <p>A name is made of parts joined by dots, {@code root.storage.mount}; the empty name is the root
 * of all. A journal lives as long as a {@link Log} or {@link RawLog} of it is held. After that,
 * once nothing was appended for the time to live, it is dropped with its entries.
 *
 * <p>A part may end with the number of an instance, {@code root.storage~2.mount}. It is left out
 * wherever a name is given: instances of one organ share their journals, see {@link Dn#journal}.
 */
@ProviderType
public interface LogTree {
  /**
   * Creates a tree of its own with the default limits; for tests and programs without framework.
   */
  static LogTree create() {
    return create(LogLimits.DEFAULT);
  }

  /** Creates a tree of its own. */
  static LogTree create(LogLimits limits) {
    return new JournalTree(limits);
  }

  /**
   * Returns the log of a journal.
   *
   * @throws IllegalArgumentException if the name has an empty part
   */
  Log log(String dn);

  /**
   * Returns the raw log of a journal.
   *
   * @throws IllegalArgumentException if the name has an empty part
   */
  RawLog raw(String dn);

  /**
   * Appends an entry that was made elsewhere, by a converter for instance.
   *
   * @throws IllegalArgumentException if the name has an empty part
   */
  void append(String dn, LogPayload payload);

  /** Opens a reader, which the caller closes. */
  LogReader read(LogQuery query);

  /**
   * Returns the newest entries of a query's backlog, oldest first, for those who need only the end.
   *
   * @param bytes estimated memory at which the list is full; older entries are left out
   */
  List<LogEntry> newest(LogQuery query, long bytes);

  /**
   * Lets {@link Log#v} of this very name (not of its children) append up to {@code level}; 0 is the
   * initial state.
   *
   * @throws IllegalArgumentException if the name has an empty part or the level is negative
   */
  void setVerbosity(String dn, int level);

  /** Returns the names that have a journal, sorted. */
  SortedSet<String> names();

  /** Counts what there is; reads each journal. */
  LogStatistics statistics();
}
