package dev.polis.plugins;

import dev.polis.base.config.SettingCheck;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.swap.ResourceLimits;
import dev.polis.plugins.swap.SwapSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/**
 * Holds the checked configuration of the swap engine.
 *
 * @param store the folder of the plugin store
 * @param swap the limits of a swap
 * @param distribution the digests of the distribution's plugin manifests
 * @param commandLine the configurations of the command line
 */
record PluginsSettings(
    Path store, SwapSettings swap, Set<Digest> distribution, ConfigurationSet commandLine) {
  private static final String PID = "dev.polis.plugins";

  /**
   * The longest configurable time: enough for the slowest organ on a slow machine, and short enough
   * for a waiting person.
   */
  private static final Duration LONGEST = Duration.ofHours(1);

  /** The shortest configurable time: a busy machine needs this much even for a healthy organ. */
  private static final Duration SHORTEST = Duration.ofMillis(100);

  /**
   * The time after which the engine looks for classes of a removed version that are still in
   * memory. Most nodes collect their whole heap within this time anyway; the others do it once for
   * a swap.
   */
  private static final Duration UNLOADED = Duration.ofMinutes(10);

  /**
   * The largest configurable limit, which no node reaches, so that an operator can switch a limit
   * off.
   */
  private static final int MOST = 1_000_000;

  static PluginsSettings of(PluginsConfig config) {
    SettingCheck check = SettingCheck.of(PID);
    return new PluginsSettings(
        Path.of(check.present("store", config.store())),
        new SwapSettings(
            Duration.ofMillis(
                check.range("healthy.ms", config.healthy_ms(), 0, LONGEST.toMillis())),
            millis(check, "deadline.ms", config.deadline_ms()),
            millis(check, "start.ms", config.start_ms()),
            millis(check, "stop.ms", config.stop_ms()),
            UNLOADED,
            new ResourceLimits(
                mebibytes(check, "heap.growth.mib", config.heap_growth_mib()),
                mebibytes(check, "metaspace.growth.mib", config.metaspace_growth_mib()),
                check.range("threads.growth", config.threads_growth(), 1, MOST)),
            Set.of(config.alone())),
        digests(check, config.distribution()),
        commandLine(check, config.commandline()));
  }

  private static Duration millis(SettingCheck check, String key, long value) {
    return Duration.ofMillis(check.range(key, value, SHORTEST.toMillis(), LONGEST.toMillis()));
  }

  private static long mebibytes(SettingCheck check, String key, int value) {
    return check.range(key, value, 1, MOST) * 1024L * 1024L;
  }

  private static Set<Digest> digests(SettingCheck check, String[] lines) {
    Set<Digest> digests = new HashSet<>();
    for (String line : lines) {
      try {
        digests.add(new Digest(line));
      } catch (IllegalArgumentException e) {
        throw check.refuse("distribution", line, "which is no digest: 64 digits of 0-9a-f are");
      }
    }
    return digests;
  }

  /**
   * Reads {@code PID key=value}: a space ends the PID, since the PID and the key may contain dots.
   */
  private static ConfigurationSet commandLine(SettingCheck check, String[] lines) {
    ConfigurationSet set = ConfigurationSet.none();
    for (String line : lines) {
      int space = line.indexOf(' ');
      int equals = line.indexOf('=');
      if (space < 1 || equals < space) {
        throw check.refuse("commandline", line, "which is not \"PID key=value\"");
      }
      set =
          set.with(
              line.substring(0, space),
              line.substring(space + 1, equals),
              line.substring(equals + 1));
    }
    return set;
  }
}
