package dev.polis.node;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import jdk.management.VirtualThreadSchedulerMXBean;

/**
 * Holds the stacks of the threads of this process at one moment.
 *
 * @param threads a text for each thread: a line with its number, name and state, then its stack
 * @param carriers says whether virtual threads still run; empty if they do
 */
record ThreadStacks(List<String> threads, String carriers) {
  /** As the JDK writes the first line of a virtual thread that runs, or waits for a carrier. */
  private static final String BUSY = " virtual RUNNABLE ";

  /** Takes the stacks; needs no virtual thread, and no room in the state directory. */
  static ThreadStacks take() {
    return new ThreadStacks(dump(), busyCarriers());
  }

  private static List<String> dump() {
    try {
      Path folder = Files.createTempDirectory("polis-threads");
      Path file = folder.resolve("threads");
      try {
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
            .dumpThreads(file.toString(), ThreadDumpFormat.TEXT_PLAIN);
        return Arrays.stream(Files.readString(file).split("\n\n"))
            .map(String::strip)
            .filter(thread -> thread.startsWith("#"))
            .toList();
      } finally {
        Files.deleteIfExists(file);
        Files.delete(folder);
      }
    } catch (IOException noRoom) {
      // Without a file the JDK tells the threads of the system alone.
      return Thread.getAllStackTraces().entrySet().stream()
          .map(
              entry ->
                  "#%d \"%s\" %s%n%s"
                      .formatted(
                          entry.getKey().threadId(),
                          entry.getKey().getName(),
                          entry.getKey().getState(),
                          Arrays.stream(entry.getValue())
                              .map(frame -> "    at " + frame)
                              .collect(Collectors.joining("\n"))))
          .toList();
    }
  }

  private static String busyCarriers() {
    VirtualThreadSchedulerMXBean scheduler =
        ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class);
    long waiting = scheduler.getQueuedVirtualThreadCount();
    int mounted = scheduler.getMountedVirtualThreadCount();
    return waiting == 0 || mounted < scheduler.getParallelism()
        ? ""
        : "%d virtual threads compute without a pause and take all processors there are for such, %d others wait"
            .formatted(mounted, waiting);
  }

  /**
   * Returns the threads to look at first: those with these names, and the virtual ones that
   * compute.
   */
  List<String> suspects(List<String> names) {
    return threads.stream()
        .filter(
            thread ->
                thread.lines().findFirst().orElse("").contains(BUSY) && thread.contains("\n")
                    || names.stream().anyMatch(name -> thread.contains("\"" + name + "\"")))
        .toList();
  }

  /** Returns all stacks as one text, the suspects first. */
  String text(List<String> names) {
    return "Threads to look at first:\n\n%s\n\nAll threads:\n\n%s\n"
        .formatted(String.join("\n\n", suspects(names)), String.join("\n\n", threads));
  }
}
