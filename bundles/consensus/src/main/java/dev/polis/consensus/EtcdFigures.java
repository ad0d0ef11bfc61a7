package dev.polis.consensus;

import java.time.Duration;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds the values of etcd's metrics page that tell whether it works.
 *
 * @param leader whether it knows a leader
 * @param active the ids, in hexadecimal, of the members with a connection to it; the page has no
 *     line for a member that has had none since the start
 * @param syncs the number of times that it has waited for its log to be on the disk
 * @param syncSeconds the whole time of these waits
 */
record EtcdFigures(boolean leader, Set<String> active, long syncs, double syncSeconds) {

  /**
   * The mean time of a wait for the disk from which etcd is slow: etcd's own advice is 10 ms, a
   * busy disk of a test machine takes 50 ms, and from the election timeout of 1 s leaders change.
   */
  private static final Duration SLOW = Duration.ofMillis(250);

  /** The fewest waits that make a mean; an idle etcd waits a few times each second. */
  private static final long ENOUGH = 3;

  private static final Pattern VALUE =
      Pattern.compile(
          "(etcd_server_has_leader|etcd_network_active_peers|etcd_disk_wal_fsync_duration_seconds_(?:sum|count))(?:\\{.*Remote=\"([0-9a-f]+)\".*\\})? (\\S+)");

  EtcdFigures {
    active = Set.copyOf(active);
  }

  /** Reads a metrics page; returns empty if it has no such values. */
  static Optional<EtcdFigures> parse(String page) {
    boolean known = false;
    boolean leader = false;
    Set<String> active = new HashSet<>();
    double syncs = 0;
    double seconds = 0;
    // A search of the whole page would try each letter of its hundred KiB.
    for (String line : (Iterable<String>) page.lines()::iterator) {
      Matcher values = VALUE.matcher(line);
      if (!values.matches()) {
        continue;
      }
      double value = Double.parseDouble(values.group(3));
      switch (values.group(1)) {
        case "etcd_server_has_leader" -> {
          known = true;
          leader = value > 0;
        }
        case "etcd_network_active_peers" -> {
          if (value > 0 && values.group(2) != null) {
            active.add(values.group(2));
          }
        }
        case "etcd_disk_wal_fsync_duration_seconds_sum" -> seconds = value;
        default -> syncs = value;
      }
    }
    return known
        ? Optional.of(new EtcdFigures(leader, active, Math.round(syncs), seconds))
        : Optional.empty();
  }

  /** Returns a text about the disk if it was slow since an earlier page. */
  Optional<String> slowSince(EtcdFigures earlier) {
    long waits = syncs - earlier.syncs();
    double mean = (syncSeconds - earlier.syncSeconds()) / Math.max(1, waits);
    return waits < ENOUGH || mean * 1000 < SLOW.toMillis()
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT,
                "the disk of etcd is slow: its last %d waits for the disk (fsync) took %.2f s on average, and 0.01 s is usual",
                waits,
                mean));
  }
}
