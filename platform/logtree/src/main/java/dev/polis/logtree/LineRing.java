package dev.polis.logtree;

import java.util.ArrayDeque;
import java.util.List;

/**
 * Keeps the newest lines of a program's output, to quote them when it fails. Safe for use by any
 * thread.
 */
public final class LineRing {
  private final int capacity;
  private final ArrayDeque<LogPayload.Raw> lines = new ArrayDeque<>();

  /**
   * Creates a ring for so many lines.
   *
   * @throws IllegalArgumentException if the capacity is less than 1
   */
  public LineRing(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("a ring of " + capacity + " lines holds nothing");
    }
    this.capacity = capacity;
  }

  /** Adds a line, overwriting the oldest if the ring is full. */
  public synchronized void add(LogPayload.Raw line) {
    if (lines.size() == capacity) {
      lines.removeFirst();
    }
    lines.addLast(line);
  }

  /** Returns the newest lines, at most {@code count} of them, oldest first. */
  public synchronized List<LogPayload.Raw> newest(int count) {
    return lines.stream().skip(Math.max(0, lines.size() - count)).toList();
  }
}
