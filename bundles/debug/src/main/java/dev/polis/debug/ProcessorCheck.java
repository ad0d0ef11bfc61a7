package dev.polis.debug;

import dev.polis.health.HealthCondition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Measures how much of the time something keeps the processors from the node: the quota of a cgroup
 * around it, or another machine on the same host. One thread uses it.
 */
final class ProcessorCheck {
  private static final String SHORT = "processor-short";
  private static final String QUOTA = "cpu.cfs_quota_us";
  private static final String QUOTA_PERIOD = "cpu.cfs_period_us";
  private static final String QUOTA_2 = "cpu.max";

  /** The measured time; a start alone computes for some ten seconds. */
  private static final Duration WINDOW = Duration.ofSeconds(60);

  /** The fewest periods of a quota, of 0.1 s each, from which a share is a measurement. */
  private static final long PERIODS = 50;

  /** The share that is reported: calls of the node take several times as long then. */
  private static final int NAMED_PERCENT = 50;

  private static final int WHOLE_PERCENT = 100;

  /** The fields of the first line of /proc/stat, after its name: of proc_stat(5). */
  private static final int FIELDS = 8;

  private static final int IDLE = 3;
  private static final int WAITING = 4;
  private static final int STOLEN = 7;

  /**
   * Is a pair of counters that only grow.
   *
   * @param whole counts periods in which the node had work
   * @param lost counts those in which it did not get to it
   */
  private record Counts(long whole, long lost) {
    Counts since(Counts earlier) {
      return new Counts(whole - earlier.whole, lost - earlier.lost);
    }

    boolean isMuch() {
      return whole >= PERIODS && lost * WHOLE_PERCENT >= whole * NAMED_PERCENT;
    }

    long percent() {
      return lost * WHOLE_PERCENT / whole;
    }
  }

  private record Sample(long nanos, Counts counts) {}

  private final Path proc;
  private final Path cgroups;
  private final LongSupplier nanos;
  private final Map<Path, Deque<Sample>> samples = new HashMap<>();

  /**
   * @param proc the folder of the kernel's processes
   * @param cgroups the mount point of cgroups
   * @param nanos a monotonic clock
   */
  ProcessorCheck(Path proc, Path cgroups, LongSupplier nanos) {
    this.proc = proc;
    this.cgroups = cgroups;
    this.nanos = nanos;
  }

  /** Reports what kept the processors from the node in the last minute. */
  Optional<HealthCondition> look() throws IOException {
    for (CgroupFolder each : CgroupFolder.around(proc, cgroups, "cpu")) {
      Optional<Integer> quota = quotaPercent(each);
      Optional<Counts> counts = quota.isPresent() ? throttled(each) : Optional.empty();
      if (counts.isPresent()) {
        Counts lately = lately(each.folder(), counts.get());
        if (lately.isMuch()) {
          return Optional.of(throttled(each, quota.get(), lately));
        }
      }
    }
    Path machine = proc.resolve("stat");
    Counts lately = lately(machine, stolen(Files.readAllLines(machine)));
    return lately.isMuch() ? Optional.of(stolen(lately)) : Optional.empty();
  }

  private static HealthCondition throttled(CgroupFolder group, int quota, Counts lately) {
    String remedy =
        "give the cgroup more: in %s, with CPUQuota= of the unit, or with the limit of the container"
            .formatted(group.folder().resolve(group.unified() ? QUOTA_2 : QUOTA));
    return HealthCondition.degraded(
        SHORT,
        "the cgroup %s, in which the node runs, may use %d %% of a processor, and was held back in %d %% of its time in the last minute: calls and leases of the node are late"
            .formatted(group.group(), quota, lately.percent()),
        remedy);
  }

  private static HealthCondition stolen(Counts lately) {
    return HealthCondition.degraded(
        SHORT,
        "the host of this virtual machine gave it no processor in %d %% of the time in the last minute in which it had work: calls and leases of the node are late"
            .formatted(lately.percent()),
        "give this machine more of its host's processors, or end other machines there: st in top shows the share");
  }

  /** Returns the growth of counters in the last minute. */
  private Counts lately(Path source, Counts now) {
    long time = nanos.getAsLong();
    Deque<Sample> known = samples.computeIfAbsent(source, _ -> new ArrayDeque<>());
    known.add(new Sample(time, now));
    while (time - known.getFirst().nanos() > WINDOW.toNanos()) {
      known.removeFirst();
    }
    return now.since(known.getFirst().counts());
  }

  private static Optional<Integer> quotaPercent(CgroupFolder group) {
    if (group.unified()) {
      return group
          .line(QUOTA_2)
          .map(line -> line.split(" "))
          .filter(words -> words.length == 2 && !words[0].equals("max"))
          .map(words -> percent(Long.parseLong(words[0]), Long.parseLong(words[1])));
    }
    Optional<Long> period = group.number(QUOTA_PERIOD);
    // Without a quota, the file holds -1, which is no number here.
    return group.number(QUOTA).flatMap(quota -> period.map(each -> percent(quota, each)));
  }

  private static int percent(long part, long whole) {
    return (int) (part * WHOLE_PERCENT / Math.max(1, whole));
  }

  private static Optional<Counts> throttled(CgroupFolder group) {
    Map<String, Long> counts = group.numbers("cpu.stat");
    return Optional.ofNullable(counts.get("nr_periods"))
        .map(periods -> new Counts(periods, counts.getOrDefault("nr_throttled", 0L)));
  }

  /** Reads the time of all processors: in all but idle time, the machine had work. */
  private static Counts stolen(List<String> lines) {
    String[] fields = lines.getFirst().split("\\s+");
    long whole = 0;
    for (int field = 0; field < FIELDS; field++) {
      if (field != IDLE && field != WAITING) {
        whole += Long.parseLong(fields[field + 1]);
      }
    }
    return new Counts(whole, Long.parseLong(fields[STOLEN + 1]));
  }
}
