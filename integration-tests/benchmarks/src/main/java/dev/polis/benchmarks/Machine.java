package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;

/** Describes the machine of a measurement, without details that could identify it. */
final class Machine {

  private Machine() {}

  /** Returns the load averages over 1, 5 and 15 minutes. */
  static String load() throws IOException {
    String[] fields = Files.readString(Path.of("/proc/loadavg")).split(" ");
    return String.join(" ", fields[0], fields[1], fields[2]);
  }

  static String facts(String loadBefore, String mode) throws IOException {
    String kernel = Files.readString(Path.of("/proc/sys/kernel/osrelease")).strip();
    return """
        %s, %s: %d cores of %s, %s of memory, Linux %s, Java %s; \
        load average %s before, %s after.
        """
        .formatted(
            LocalDate.now(ZoneOffset.UTC),
            mode,
            Runtime.getRuntime().availableProcessors(),
            field("/proc/cpuinfo", "model name"),
            gibibytes(field("/proc/meminfo", "MemTotal")),
            kernel,
            Runtime.version(),
            loadBefore,
            load());
  }

  private static String gibibytes(String kibibytes) {
    return Report.number("%.0f GiB", Long.parseLong(kibibytes.split(" ")[0]) / 1048576.0);
  }

  private static String field(String file, String name) throws IOException {
    return Files.readAllLines(Path.of(file)).stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .findFirst()
        .orElse("unknown");
  }
}
