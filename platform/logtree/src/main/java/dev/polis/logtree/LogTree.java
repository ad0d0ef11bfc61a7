package dev.polis.logtree;

import java.util.List;
import java.util.SortedSet;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Gives access to the journals of a node by distinguished name. Safe for use by any thread.
 *
 * <p>A name is made of parts joined by dots, {@code root.storage.mount}; the empty name is the root
 * of all. A journal lives as long as a {@link Log} or {@link RawLog} of it is reachable.
 * Afterwards, the tree drops it with its entries when the time to live has passed since the last
 * one.
 *
 * <p>A part may end with the number of an instance, {@code root.storage~2.mount}. Each method
 * ignores it in a name: instances of one organ share their journals, see {@link Dn#journal}.
 */
@ProviderType
public interface LogTree {
  /**
   * Creates a separate tree with the default limits, for tests and programs without a framework.
   */
  static LogTree create() {
    return create(LogLimits.DEFAULT);
  }

  /** Creates a separate tree. */
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
   * Appends an entry from another source, such as a converter.
   *
   * @throws IllegalArgumentException if the name has an empty part
   */
  void append(String dn, LogPayload payload);

  /** Opens a reader, which the caller closes. */
  LogReader read(LogQuery query);

  /**
   * Returns the newest entries of a query's backlog, oldest first, for readers that need only its
   * end.
   *
   * @param bytes the estimated memory at which the list is full; it omits older entries
   */
  List<LogEntry> newest(LogQuery query, long bytes);

  /**
   * Lets {@link Log#v} of this name, without its children, append up to {@code level}; 0 is the
   * initial state.
   *
   * @throws IllegalArgumentException if the name has an empty part or the level is negative
   */
  void setVerbosity(String dn, int level);

  /** Returns the names with a journal, sorted. */
  SortedSet<String> names();

  /** Counts the content of the tree; reads each journal. */
  LogStatistics statistics();
}
