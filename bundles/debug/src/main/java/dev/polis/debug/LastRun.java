package dev.polis.debug;

import dev.polis.health.HealthCondition;
import dev.polis.health.PluginStatus;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Reports how the last run of the node crashed. After a full heap, which any code of the process
 * may have filled, it names the plugins that did not come with the platform. One thread uses it.
 */
final class LastRun {
  private static final String CRASHED = "last-run-crashed";

  /** How the report of a JVM begins whose memory was full. */
  private static final String FULL = "ran out of memory";

  /** The names of the distribution's bundles begin so. */
  private static final String OURS = "dev.polis.";

  private final String crash;
  private final Supplier<List<PluginStatus>> plugins;

  /** What is published; null until the plugins are known. */
  private HealthCondition known;

  private boolean looked;

  /**
   * @param crash the first line of the crash record
   * @param plugins lists the plugins of the node; empty while they are unknown
   */
  LastRun(String crash, Supplier<List<PluginStatus>> plugins) {
    this.crash = crash;
    this.plugins = plugins;
  }

  /** Reports the crash; the plugins from the second time on, since their check delays a start. */
  Optional<HealthCondition> look() {
    if (known == null) {
      boolean names = crash.contains(FULL);
      List<PluginStatus> all = names && looked ? plugins.get() : List.of();
      looked = true;
      HealthCondition now =
          HealthCondition.up(CRASHED, "the last run crashed: " + crash + foreign(all));
      if (names && all.isEmpty()) {
        return Optional.of(now);
      }
      known = now;
    }
    return Optional.of(known);
  }

  private static String foreign(List<PluginStatus> plugins) {
    String names =
        plugins.stream()
            .filter(each -> !each.symbolicName().startsWith(OURS))
            .filter(each -> !each.provided().platform())
            .map(each -> "%s (%s)".formatted(each.symbolicName(), each.standing()))
            .collect(Collectors.joining(", "));
    return names.isEmpty()
        ? ""
        : "; plugins run here that did not come with the platform, and may have filled the heap: %s; take one back with polisctl plugin rollback, or its role with polisctl node role remove"
            .formatted(names);
  }
}
