package dev.polis.logtree;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Buffers the matching entries for one reader. Its own lock is taken after that of the tree, never
 * before.
 */
final class JournalReader implements LogReader {
  private final JournalTree tree;
  private final LogQuery query;
  private final boolean resumedWithGap;
  private final BacklogPlace place;
  private List<LogEntry> backlog; // null until the first call asks for it
  private volatile long cursor;

  private List<LogEntry> buffer = new ArrayList<>();
  private long buffered;
  private long missed;
  private boolean ended;

  JournalReader(JournalTree tree, LogQuery query, boolean resumedWithGap, long begin, long opened) {
    this.tree = tree;
    this.query = query;
    this.resumedWithGap = resumedWithGap;
    this.place = new BacklogPlace(begin, opened);
    this.cursor = opened;
  }

  /** Buffers the entry if it matches; called in sequence order, under the lock of the tree. */
  void offer(LogEntry entry) {
    if (!query.covers(entry.dn())
        || !query.admits(entry.payload())
        || entry.sequence() <= query.after()) {
      return;
    }
    synchronized (this) {
      if (ended) {
        return;
      }
      long weight = Journal.weight(entry);
      if (buffer.size() == BUFFER || !buffer.isEmpty() && buffered + weight > BUFFER_BYTES) {
        missed++;
      } else {
        buffer.add(entry);
        buffered += weight;
      }
      notifyAll();
    }
  }

  synchronized void end() {
    ended = true;
    notifyAll();
  }

  @Override
  public List<LogEntry> backlog() {
    if (backlog == null) {
      backlog = page(Long.MAX_VALUE).entries();
    }
    return backlog;
  }

  @Override
  public LogPage page(long bytes) {
    return tree.page(query, place, bytes);
  }

  @Override
  public boolean resumedWithGap() {
    return resumedWithGap;
  }

  @Override
  public synchronized Optional<LogBatch> next() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it waited");
    }
    while (buffer.isEmpty() && !ended) {
      wait();
    }
    return drain();
  }

  @Override
  public synchronized Optional<LogBatch> next(Duration within) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it waited");
    }
    long end = System.nanoTime() + within.toNanos();
    while (buffer.isEmpty() && !ended && end - System.nanoTime() > 0) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    return drain();
  }

  @Override
  public long cursor() {
    return cursor;
  }

  @Override
  public void close() {
    tree.remove(this);
    end();
  }

  private Optional<LogBatch> drain() {
    if (buffer.isEmpty() && ended) {
      return Optional.empty();
    }
    LogBatch batch = new LogBatch(buffer, missed);
    if (!buffer.isEmpty()) {
      cursor = buffer.getLast().sequence();
    }
    buffer = new ArrayList<>();
    buffered = 0;
    missed = 0;
    return Optional.of(batch);
  }
}
