package dev.polis.logtree;

import java.util.Collection;

/** Remembers how far a reader has read its backlog. Guarded by the lock of the tree. */
final class BacklogPlace {
  private final long end;
  private long at;
  private long readAt;

  /**
   * Creates the place of a reader that has read nothing.
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
   * Records that everything up to a sequence number was read.
   *
   * @param now the newest sequence number of the tree
   */
  void move(long to, long now) {
    at = to;
    readAt = now;
  }

  /** Returns whether entries that are still to be read were dropped since the last time. */
  boolean lost(Collection<Journal> journals) {
    return at < end
        && journals.stream().anyMatch(each -> each.evictedAt() > readAt && each.evictedUpTo() > at);
  }
}
