package dev.polis.container.it;

import com.sun.management.HotSpotDiagnosticMXBean;
import dev.polis.fixtures.Await;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.osgi.framework.Bundle;
import org.osgi.framework.wiring.BundleWiring;

/** Finds the remains of stopped organs. */
final class Residue {

  /** Matches the line of a thread dump that begins a thread: its number and its name. */
  private static final Pattern THREAD = Pattern.compile("#[0-9]+ \"([^\"]*)\".*");

  private final Map<String, List<WeakReference<ClassLoader>>> loaders = new TreeMap<>();

  /** Remembers the current loader of an organ, without keeping it reachable. */
  void note(String organ) {
    note(organ, ContainedNode.bundle(organ));
  }

  /** Remembers the loader of one version of an organ. */
  void note(String organ, Bundle version) {
    loaders
        .computeIfAbsent(organ, name -> new ArrayList<>())
        .add(new WeakReference<>(version.adapt(BundleWiring.class).getClassLoader()));
  }

  /**
   * Waits until the remembered loaders are collected.
   *
   * @param left the loaders of each organ that may stay @throws AssertionError naming the organs of
   *     which more stay
   */
  void awaitCollected(int left) throws Exception {
    Await.until(
        Bundles.PATIENCE,
        "the former class loaders to be collected",
        () -> {
          System.gc();
          return held(left).isEmpty();
        },
        () -> "still held, by organ: " + held(left));
  }

  /** Returns the number of former loaders of each organ that stay, if more than allowed. */
  private Map<String, Long> held(int left) {
    Map<String, Long> held = new TreeMap<>();
    loaders.forEach(
        (organ, noted) -> {
          long count = noted.stream().filter(loader -> loader.get() != null).count();
          if (count > left) {
            held.put(organ, count);
          }
        });
    return held;
  }

  /** Returns the JVM's threads, including virtual ones, by name without digits. */
  static Map<String, Integer> threads() throws Exception {
    Path scratch = Path.of(System.getProperty("polis.scratch"));
    Path folder = Files.createTempDirectory(scratch, "threads");
    Path dump = folder.resolve("dump.txt");
    ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
        .dumpThreads(dump.toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.TEXT_PLAIN);
    Map<String, Integer> threads = new TreeMap<>();
    for (String line : Files.readAllLines(dump)) {
      Matcher thread = THREAD.matcher(line);
      if (thread.matches()) {
        threads.merge(thread.group(1).replaceAll("[0-9]+", "#"), 1, Integer::sum);
      }
    }
    Files.delete(dump);
    Files.delete(folder);
    return threads;
  }

  static int count(Map<String, Integer> threads) {
    return threads.values().stream().mapToInt(Integer::intValue).sum();
  }
}
