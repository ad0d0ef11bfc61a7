package dev.polis.logtree;

import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/** Stores journals sorted by name, so that a subtree is a range. */
final class JournalTree implements LogTree {
  // Above the budget the largest journal loses this part at once, so that the search for it is
  // rare.
  private static final int GIVE_PART = 8;
  // The tree looks for vanished journals this often in a time to live.
  private static final int SWEEPS_PER_LIFE = 4;
  // The character after '.', hence the end of the range of names that begin with "dn.".
  private static final char AFTER_DOT = '.' + 1;

  private final LogLimits limits;
  private final InstantSource clock;
  private final LongSupplier ticker;

  private final TreeMap<String, Journal> journals = new TreeMap<>();
  private JournalReader[] followers = {};
  private final long firstSequence;
  private long sequence;
  private long bytes;
  private long droppedUpTo;
  private long nextSweepNanos;

  JournalTree(LogLimits limits) {
    this(limits, InstantSource.system(), System::nanoTime);
  }

  JournalTree(LogLimits limits, InstantSource clock, LongSupplier ticker) {
    this.limits = limits;
    this.clock = clock;
    this.ticker = ticker;
    // Nanoseconds since 1970: no process appends that fast. So a later life begins above all
    // cursors of this one, and an old cursor hides no entries.
    this.sequence = Duration.ofMillis(clock.millis()).toNanos();
    this.firstSequence = sequence;
    this.droppedUpTo = sequence;
    this.nextSweepNanos = ticker.getAsLong() + sweepInterval();
  }

  @Override
  public Log log(String dn) {
    String name = Dn.journal(dn);
    synchronized (this) {
      Journal journal = journal(name);
      return new JournalLog(this, journal, journal.anchor());
    }
  }

  @Override
  public RawLog raw(String dn) {
    String name = Dn.journal(dn);
    synchronized (this) {
      Journal journal = journal(name);
      return new JournalRawLog(this, journal, journal.anchor());
    }
  }

  @Override
  public void append(String dn, LogPayload payload) {
    String name = Dn.journal(dn);
    synchronized (this) {
      appendLocked(journal(name), payload);
    }
  }

  synchronized void append(Journal journal, LogPayload payload) {
    appendLocked(journal, payload);
  }

  InstantSource clock() {
    return clock;
  }

  @Override
  public synchronized LogReader read(LogQuery query) {
    sweep(ticker.getAsLong());
    boolean gap = droppedUpTo > query.after();
    for (Journal journal : matching(query)) {
      gap |= journal.evictedUpTo() > query.after();
    }
    JournalReader reader =
        new JournalReader(this, query, query.after() > 0 && gap, beginning(query), sequence);
    if (query.following()) {
      followers = Arrays.copyOf(followers, followers.length + 1);
      followers[followers.length - 1] = reader;
    } else {
      reader.end();
    }
    return reader;
  }

  @Override
  public synchronized List<LogEntry> newest(LogQuery query, long bytes) {
    sweep(ticker.getAsLong());
    List<LogEntry> found = new ArrayList<>();
    long weight = 0;
    JournalMerge merge = JournalMerge.backwards(matching(query));
    while (merge.hasNext() && found.size() < query.backlog() && weight < bytes) {
      LogEntry entry = merge.next();
      if (entry.sequence() <= query.after()) {
        break;
      }
      if (query.admits(entry.payload())) {
        found.add(entry);
        weight += Journal.weight(entry);
      }
    }
    return found.reversed();
  }

  /** Returns the sequence number before the backlog of a query. */
  private long beginning(LogQuery query) {
    if (query.backlog() == LogQuery.ALL) {
      return query.after();
    }
    long begin = sequence;
    int wanted = query.backlog();
    JournalMerge merge = JournalMerge.backwards(matching(query));
    while (merge.hasNext() && wanted > 0) {
      LogEntry entry = merge.next();
      if (entry.sequence() <= query.after()) {
        break;
      }
      if (query.admits(entry.payload())) {
        begin = entry.sequence() - 1;
        wanted--;
      }
    }
    return begin;
  }

  /**
   * Reads the next part of a reader's backlog.
   *
   * @param part the position, which this call moves
   * @param bytes estimated memory at which the part is full
   */
  LogPage page(LogQuery query, BacklogPlace part, long bytes) {
    List<LogEntry> found = new ArrayList<>();
    synchronized (this) {
      Collection<Journal> journals = matching(query);
      boolean gap = part.lost(journals);
      long weight = 0;
      JournalMerge merge = JournalMerge.after(part.at(), journals);
      boolean more = true;
      while (more && weight < Math.max(1, bytes)) {
        more = merge.hasNext();
        if (more) {
          LogEntry entry = merge.next();
          more = entry.sequence() <= part.end();
          if (more && query.admits(entry.payload())) {
            found.add(entry);
            weight += Journal.weight(entry);
          }
        }
      }
      part.move(more ? found.getLast().sequence() : part.end(), sequence);
      return new LogPage(found, gap);
    }
  }

  synchronized void remove(JournalReader reader) {
    followers =
        Arrays.stream(followers).filter(each -> each != reader).toArray(JournalReader[]::new);
  }

  @Override
  public void setVerbosity(String dn, int level) {
    String name = Dn.journal(dn);
    if (level < 0) {
      throw new IllegalArgumentException(
          "verbosity of \"" + dn + "\" is negative: " + level + "; 0 is the quietest");
    }
    synchronized (this) {
      journal(name).verbosity = level;
    }
  }

  @Override
  public synchronized SortedSet<String> names() {
    sweep(ticker.getAsLong());
    return Collections.unmodifiableSortedSet(new TreeSet<>(journals.keySet()));
  }

  @Override
  public synchronized LogStatistics statistics() {
    sweep(ticker.getAsLong());
    long entries = journals.values().stream().mapToLong(Journal::size).sum();
    return new LogStatistics(
        journals.size(), entries, bytes, sequence - firstSequence, followers.length);
  }

  synchronized int followerCount() {
    return followers.length;
  }

  synchronized long bytes() {
    return bytes;
  }

  private void appendLocked(Journal journal, LogPayload payload) {
    long now = ticker.getAsLong();
    LogEntry entry = new LogEntry(journal.dn, ++sequence, payload);
    bytes += journal.append(entry, limits.entriesPerJournal(), now);
    for (JournalReader follower : followers) {
      follower.offer(entry);
    }
    if (now - nextSweepNanos >= 0) {
      sweep(now);
    }
    while (bytes > limits.bytes() && journals.size() > 0) {
      shrink();
    }
  }

  private Journal journal(String dn) {
    return journals.computeIfAbsent(dn, name -> new Journal(name, ticker.getAsLong()));
  }

  private Collection<Journal> matching(LogQuery query) {
    if (query.children() && query.dn().isEmpty()) {
      return journals.values();
    }
    List<Journal> result = new ArrayList<>();
    Optional.ofNullable(journals.get(query.dn())).ifPresent(result::add);
    if (query.children()) {
      result.addAll(journals.subMap(query.dn() + '.', query.dn() + AFTER_DOT).values());
    }
    return result;
  }

  private void sweep(long now) {
    if (now - nextSweepNanos < 0) {
      return;
    }
    nextSweepNanos = now + sweepInterval();
    long life = limits.timeToLive().toNanos();
    for (Iterator<Journal> each = journals.values().iterator(); each.hasNext(); ) {
      Journal journal = each.next();
      if (!journal.isHeld() && now - journal.touchedNanos() >= life) {
        each.remove();
        bytes -= journal.bytes();
        droppedUpTo = Math.max(droppedUpTo, journal.newestSequence());
      }
    }
  }

  private long sweepInterval() {
    return limits.timeToLive().toNanos() / SWEEPS_PER_LIFE;
  }

  private void shrink() {
    Journal largest = Collections.max(journals.values(), Comparator.comparingLong(Journal::bytes));
    bytes -= largest.dropOldest(Math.max(1, largest.size() / GIVE_PART), sequence);
  }
}
