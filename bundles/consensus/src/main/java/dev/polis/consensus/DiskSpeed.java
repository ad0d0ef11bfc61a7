package dev.polis.consensus;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.LongSupplier;

/** Measures the speed of etcd's disk over the last metrics pages. One thread uses it. */
final class DiskSpeed {

  /** What an operator does about a slow disk. */
  static final String REMEDY =
      "iostat -x 1 shows what uses the disk, dmesg whether it fails: end that, or give data/etcd a faster disk";

  /** What an operator does about a disk that does not answer. */
  static final String HANGS =
      "dmesg names a disk that fails: replace it. If it names none, a command has frozen the file system or the device below data/etcd, for a snapshot for example: fsfreeze --unfreeze MOUNT, or dmsetup resume DEVICE, ends that, and this node continues by itself";

  /** The time of a measurement: some checks, of which each takes 5 s. */
  private static final Duration SPAN = Duration.ofSeconds(30);

  private record Page(long at, EtcdFigures figures) {}

  private final LongSupplier nanoTime;
  private final Deque<Page> pages = new ArrayDeque<>();

  /**
   * @param nanoTime a monotonic clock
   */
  DiskSpeed(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Adds a page; returns a text about the disk if it was slow during the last ones. */
  Optional<String> slow(EtcdFigures now) {
    long at = nanoTime.getAsLong();
    pages.removeIf(page -> at - page.at() > SPAN.toNanos());
    pages.addLast(new Page(at, now));
    return now.slowSince(pages.getFirst().figures());
  }
}
