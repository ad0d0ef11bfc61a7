package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Holds one sample of a process's use of the machine.
 *
 * @param residentBytes memory that is in RAM
 * @param threads threads the kernel knows
 * @param cpuTicks time on a core so far, in hundredths of a second
 */
record ProcessSample(long residentBytes, int threads, long cpuTicks) {

  /** The kernel's unit in user space, with any clock of its own. */
  static final int TICKS_PER_SECOND = 100;

  static ProcessSample of(long pid) throws IOException {
    Path proc = Path.of("/proc", Long.toString(pid));
    long resident = 0;
    int threads = 0;
    for (String line : Files.readAllLines(proc.resolve("status"))) {
      String[] words = line.split("\\s+");
      switch (words[0]) {
        case "VmRSS:" -> resident = Long.parseLong(words[1]) * 1024;
        case "Threads:" -> threads = Integer.parseInt(words[1]);
        default -> {}
      }
    }
    return new ProcessSample(resident, threads, ticks(proc));
  }

  private static long ticks(Path proc) throws IOException {
    String stat = Files.readString(proc.resolve("stat"));
    // The name of the program may hold any character; the text after the last parenthesis may not.
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
  }

  double cpuSeconds() {
    return (double) cpuTicks / TICKS_PER_SECOND;
  }

  double mebibytes() {
    return residentBytes / 1048576.0;
  }
}
