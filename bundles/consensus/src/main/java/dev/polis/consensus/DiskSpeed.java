package dev.polis.consensus;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** Measures the speed of etcd's disk over the last metrics pages. One thread uses it. */
final class DiskSpeed {

  /** What an operator does about a slow disk. */
  static final String REMEDY =
      "iostat -x 1 shows what uses the disk, dmesg whether it fails: end that, or give data/etcd a faster disk";

  /** The pages of a measurement: half a minute of checks. */
  private static final int PAGES = 6;

  private final Deque<EtcdFigures> pages = new ArrayDeque<>();

  /** Adds a page; returns a text about the disk if it was slow during the last ones. */
  Optional<String> slow(EtcdFigures now) {
    pages.addLast(now);
    if (pages.size() > PAGES) {
      pages.removeFirst();
    }
    return now.slowSince(pages.getFirst());
  }
}
