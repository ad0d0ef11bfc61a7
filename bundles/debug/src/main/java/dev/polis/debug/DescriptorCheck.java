package dev.polis.debug;

import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Compares the number of open descriptors of the node's process with its limit. Without a free one
 * the process accepts no connection, opens no file, and starts no child.
 */
final class DescriptorCheck {
  private static final String SHORT = "descriptors-short";
  private static final String LIMIT = "Max open files";

  /**
   * The percentage that is reported, above which a few hundred more connections may exceed the
   * limit.
   */
  private static final int NAMED_PERCENT = 80;

  private static final int WHOLE_PERCENT = 100;

  /** The factor of the proposed limit, which then suffices for a while. */
  private static final int RAISE = 4;

  private final Path process;
  private long limit;

  /**
   * @param process the folder of the process below {@code /proc}
   */
  DescriptorCheck(Path process) {
    this.process = process;
  }

  /** Reports a shortage of descriptors, with the commands that raise the limit. */
  Optional<HealthCondition> look() throws IOException {
    long open;
    try {
      limit = limit();
      open = open();
    } catch (IOException e) {
      // The count itself needs a descriptor.
      if (limit == 0 || !String.valueOf(e.getMessage()).contains("Too many open files")) {
        throw e;
      }
      open = limit;
    }
    return open * WHOLE_PERCENT >= limit * NAMED_PERCENT
        ? Optional.of(condition(open))
        : Optional.empty();
  }

  private HealthCondition condition(long open) {
    long more = limit * RAISE;
    return HealthCondition.degraded(
        SHORT,
        "the process of the node has %d descriptors open, for files and connections, of the %d that it may have"
            .formatted(open, limit),
        "raise the limit at once with prlimit --pid %d --nofile=%d:%d (as root), and for later starts with ulimit -n %d or LimitNOFILE=%d of the unit"
            .formatted(ProcessHandle.current().pid(), more, more, more, more));
  }

  private long limit() throws IOException {
    return Files.readAllLines(process.resolve("limits")).stream()
        .filter(line -> line.startsWith(LIMIT))
        // After the name come the soft limit, the hard one, and the unit.
        .map(line -> line.substring(LIMIT.length()).strip().split(" +")[0])
        .mapToLong(
            soft ->
                soft.equals("unlimited") ? Long.MAX_VALUE / WHOLE_PERCENT : Long.parseLong(soft))
        .findFirst()
        .orElseThrow(() -> new IOException(process + "/limits has no line \"" + LIMIT + "\""));
  }

  private long open() throws IOException {
    try (Stream<Path> each = Files.list(process.resolve("fd"))) {
      return each.count();
    }
  }
}
