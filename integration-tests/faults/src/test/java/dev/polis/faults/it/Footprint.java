package dev.polis.faults.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds the resources of a process.
 *
 * @param threads threads of the operating system
 * @param virtualThreads virtual threads
 * @param descriptors open files and sockets
 * @param heapKib Java heap in use after a collection
 * @param residentKib memory that the kernel counts for it
 */
record Footprint(
    long threads, long virtualThreads, long descriptors, long heapKib, long residentKib) {

  private static final int MORE = 16;

  /** Connections and files close when their user closes; a log may be rotated meanwhile. */
  private static final int MORE_DESCRIPTORS = 4;

  private static final int MORE_HEAP_KIB = 16 << 10;

  /**
   * The memory that a freshly started node may add: it has used a third of its 96 MiB of heap, and
   * allocators keep 64 MiB.
   */
  static final int OF_A_FRESH_NODE_KIB = 128 << 10;

  /** The memory that a node may add after so many calls that all of its heap was in use. */
  static final int OF_A_WARM_NODE_KIB = 96 << 10;

  private static final Pattern USED = Pattern.compile("total \\d+K, used (\\d+)K");

  /**
   * Reads the numbers of a process.
   *
   * @param heap the output of {@code GC.heap_info} for a serial collector: one line for each
   *     generation
   */
  static Footprint of(long pid, String heap, long virtualThreads) throws IOException {
    Path process = Path.of("/proc", Long.toString(pid));
    return new Footprint(
        status(process, "Threads"), virtualThreads, descriptors(pid), used(heap), residentKib(pid));
  }

  /** Returns whether this is at most the other, apart from pools and logs. */
  boolean isWithin(Footprint before, int moreResidentKib) {
    return threads <= before.threads + MORE
        && virtualThreads <= before.virtualThreads + MORE
        && descriptors <= before.descriptors + MORE_DESCRIPTORS
        && heapKib <= before.heapKib + MORE_HEAP_KIB
        && residentKib <= before.residentKib + moreResidentKib;
  }

  /** Returns the number of open descriptors of a process. */
  static long descriptors(long pid) throws IOException {
    try (var open = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
      return open.count();
    }
  }

  /** Returns the memory that the kernel counts for a process now. */
  static long residentKib(long pid) throws IOException {
    return status(Path.of("/proc", Long.toString(pid)), "VmRSS");
  }

  private static long status(Path process, String field) throws IOException {
    return Files.readAllLines(process.resolve("status")).stream()
        .filter(line -> line.startsWith(field + ":"))
        .map(line -> line.replaceAll("\\D", ""))
        .mapToLong(Long::parseLong)
        .findFirst()
        .orElseThrow(() -> new AssertionError(process + "/status has no " + field));
  }

  private static long used(String heap) {
    long sum = 0;
    Matcher generations = USED.matcher(heap);
    while (generations.find()) {
      sum += Long.parseLong(generations.group(1));
    }
    if (sum == 0) {
      throw new AssertionError("no use of the heap can be read from: " + heap);
    }
    return sum;
  }

  @Override
  public String toString() {
    return "%d threads, %d virtual threads, %d descriptors, %d KiB of heap in use, %d KiB resident"
        .formatted(threads, virtualThreads, descriptors, heapKib, residentKib);
  }
}
