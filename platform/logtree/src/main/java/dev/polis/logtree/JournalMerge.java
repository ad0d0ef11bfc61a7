package dev.polis.logtree;

import java.util.Collection;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Walks the entries of several journals in the order of the tree, or against it, without copying
 * them. Its user holds the lock of the tree.
 */
final class JournalMerge {
  private static final Comparator<Place> OLDEST_FIRST =
      Comparator.comparingLong(place -> place.entry().sequence());

  /** Points at one entry of one journal. */
  private static final class Place {
    private final Journal journal;
    private int at;

    Place(Journal journal, int at) {
      this.journal = journal;
      this.at = at;
    }

    LogEntry entry() {
      return journal.entry(at);
    }

    boolean move(int step) {
      at += step;
      return exists();
    }

    boolean exists() {
      return at >= 0 && at < journal.size();
    }
  }

  private final PriorityQueue<Place> places;
  private final int step;

  private JournalMerge(Comparator<Place> order, int step) {
    this.places = new PriorityQueue<>(order);
    this.step = step;
  }

  /** Begins with the oldest entry after a sequence number. */
  static JournalMerge after(long sequence, Collection<Journal> journals) {
    JournalMerge merge = new JournalMerge(OLDEST_FIRST, 1);
    journals.forEach(each -> merge.add(new Place(each, each.firstAfter(sequence))));
    return merge;
  }

  /** Begins with the newest entry. */
  static JournalMerge backwards(Collection<Journal> journals) {
    JournalMerge merge = new JournalMerge(OLDEST_FIRST.reversed(), -1);
    journals.forEach(each -> merge.add(new Place(each, each.size() - 1)));
    return merge;
  }

  private void add(Place place) {
    if (place.exists()) {
      places.add(place);
    }
  }

  boolean hasNext() {
    return !places.isEmpty();
  }

  /** Returns the next entry, which must exist. */
  LogEntry next() {
    Place first = places.remove();
    LogEntry entry = first.entry();
    if (first.move(step)) {
      places.add(first);
    }
    return entry;
  }
}
