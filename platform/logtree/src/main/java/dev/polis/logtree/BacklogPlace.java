package dev.polis.logtree;

import java.util.Collection;

/** Remembers a reader's position in its backlog. Guarded by the lock of the tree. */
final class BacklogPlace {
  private final long end;
  private long at;
  private long readAt;

  /**
   * Creates the position before the first entry of a backlog.
   *
   * @param begin the sequence number after which the backlog begins
   * @param end the newest sequence number of the tree, which ends the backlog
   */
  BacklogPlace(long begin, long end) {
    this.at = begin;
    this.end = end;
    this.readAt = end;
  }

  long at() {
    return at;
  }

  long end() {
    return end;
  }

  /**
   * Records that the reader has read everything up to a sequence number.
   *
   * @param now the newest sequence number of the tree
   */
  void move(long to, long now) {
    at = to;
    readAt = now;
  }

  /** Returns whether unread entries were dropped since the last call. */
  boolean lost(Collection<Journal> journals) {
    return at < end
        && journals.stream().anyMatch(each -> each.evictedAt() > readAt && each.evictedUpTo() > at);
  }
}
