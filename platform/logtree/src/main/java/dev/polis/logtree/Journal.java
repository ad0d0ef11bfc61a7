package dev.polis.logtree;

import java.lang.ref.WeakReference;
import java.util.List;

/**
 * Holds the entries of one name. The lock of the tree guards everything except {@link #verbosity}.
 */
final class Journal {
  // Holds the few lines of a quiet organ; doubled up to the quota when there are more.
  private static final int FIRST_CAPACITY = 16;

  // The objects of an entry (entry, payload, list, time, string headers), measured on a 64-bit JVM
  // with compressed references.
  private static final int ENTRY_BYTES = 152;
  private static final int LINE_BYTES = 48;

  final String dn;
  volatile int verbosity;

  private LogEntry[] ring = new LogEntry[FIRST_CAPACITY];
  private int first;
  private int size;
  private long bytes;
  private long evictedUpTo;
  private long evictedAt;
  private long touchedNanos;
  private WeakReference<Object> holders = new WeakReference<>(null);

  Journal(String dn, long nowNanos) {
    this.dn = dn;
    this.touchedNanos = nowNanos;
  }

  /** Returns the object to which each handle of this journal refers. */
  Object anchor() {
    Object anchor = holders.get();
    if (anchor == null) {
      anchor = new Object();
      holders = new WeakReference<>(anchor);
    }
    return anchor;
  }

  boolean isHeld() {
    return verbosity > 0 || holders.get() != null;
  }

  /** Appends an entry, drops the oldest above the quota, and returns the growth in bytes. */
  long append(LogEntry entry, int quota, long nowNanos) {
    touchedNanos = nowNanos;
    long before = bytes;
    if (size == quota) {
      dropOldest(1, entry.sequence());
    } else if (size == ring.length) {
      grow(quota);
    }
    ring[index(size)] = entry;
    size++;
    bytes += weight(entry);
    return bytes - before;
  }

  /**
   * Drops the oldest entries and returns their bytes.
   *
   * @param now the newest sequence number of the tree
   */
  long dropOldest(int count, long now) {
    long before = bytes;
    for (int i = 0; i < count && size > 0; i++) {
      LogEntry oldest = ring[first];
      ring[first] = null;
      first = index(1);
      size--;
      bytes -= weight(oldest);
      evictedUpTo = oldest.sequence();
      evictedAt = now;
    }
    return before - bytes;
  }

  /** Returns the index, from the oldest, of the first entry after a sequence number. */
  int firstAfter(long sequence) {
    int low = 0;
    int high = size;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (entry(middle).sequence() <= sequence) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Returns the entry at an index; the oldest has index 0. */
  LogEntry entry(int place) {
    return ring[index(place)];
  }

  int size() {
    return size;
  }

  long bytes() {
    return bytes;
  }

  long evictedUpTo() {
    return evictedUpTo;
  }

  /** Returns the tree's newest sequence number at the last drop of an entry here. */
  long evictedAt() {
    return evictedAt;
  }

  long newestSequence() {
    return size == 0 ? evictedUpTo : ring[index(size - 1)].sequence();
  }

  long touchedNanos() {
    return touchedNanos;
  }

  private int index(int offset) {
    int index = first + offset;
    return index < ring.length ? index : index - ring.length;
  }

  private void grow(int quota) {
    LogEntry[] larger = new LogEntry[(int) Math.min(quota, 2L * ring.length)];
    int untilEnd = Math.min(size, ring.length - first);
    System.arraycopy(ring, first, larger, 0, untilEnd);
    System.arraycopy(ring, 0, larger, untilEnd, size - untilEnd);
    ring = larger;
    first = 0;
  }

  /** Estimates the memory of an entry in bytes. */
  static long weight(LogEntry entry) {
    return ENTRY_BYTES
        + switch (entry.payload()) {
          case LogPayload.Leveled leveled -> weight(leveled.lines());
          case LogPayload.Raw raw -> raw.data().length();
        };
  }

  private static long weight(List<String> lines) {
    long sum = 0;
    for (int i = 0; i < lines.size(); i++) {
      sum += LINE_BYTES + lines.get(i).length();
    }
    return sum;
  }
}
