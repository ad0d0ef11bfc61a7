package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.cluster.it.ConformanceSuite.Outcome;
import dev.polis.fixtures.Slice;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs Kubernetes' conformance tests against one node: every second of 58 of all groups, by turns,
 * and in the long form all of them and those of the list beside the suite's archive, or of {@code
 * -Dpolis.conformance.names=FILE}.
 */
@Tag("full")
@Tag("longer")
class ConformanceIT {

  private static final String SHORT = "conformance-short.txt";

  /** With more processes two cores become slower: most tests wait for a Pod. */
  private static final int PROCESSES = 6;

  /**
   * The number of tests that may fail beside others and run once more alone. A Pod without a
   * request has a five-hundredth of the share of a process outside of Kubernetes, so on busy cores
   * a probe of it may time out; a test that fails for another reason fails again.
   */
  private static final int AGAIN = 4;

  /** The reports stay after the run, to explain failed tests. */
  private static final Path REPORTS = Path.of("target", "conformance").toAbsolutePath();

  private static final Duration SHORT_LIMIT = Duration.ofMinutes(15);
  private static final Duration LONG_LIMIT = Duration.ofHours(3);

  @TempDir static Path directory;
  private static KubernetesNode node;
  private static ConformanceSuite suite;

  @BeforeAll
  static void start() throws Exception {
    KubernetesNode.assumeSupported();
    Path archive =
        ConformanceSuite.archive()
            .orElseGet(
                () ->
                    Assumptions.abort(
                        "there is no archive of the conformance suite beside the checkout; POLIS_KUBERNETES_ARCHIVES may name its folder"));
    // The archive is unpacked meanwhile, since a starting node mostly waits.
    FutureTask<ConformanceSuite> unpacking =
        new FutureTask<>(() -> ConformanceSuite.unpacked(archive, directory.resolve("suite")));
    Thread.ofPlatform().start(unpacking);
    node =
        KubernetesNode.started(
            directory.resolve("n"), "127.0.61.1", "--set", "dev.polis.debug.kubeconfig=true");
    suite = unpacking.get();
    node.awaitReady();
    node.loadImages(suite.images());
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  @Timeout(value = 17, unit = TimeUnit.MINUTES)
  @DisplayName("every second of 58 tests of all groups of the conformance suite passes on one node")
  void shortForm() throws Exception {
    List<String> names;
    try (InputStream list = ConformanceIT.class.getResourceAsStream(SHORT)) {
      names = new String(list.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
    List<String> half = Slice.of(names, 2);
    requirePassed(half, suite.run(node, half, PROCESSES, REPORTS.resolve("short"), SHORT_LIMIT));
  }

  @Test
  @Tag("long")
  @Timeout(value = 4, unit = TimeUnit.HOURS)
  @DisplayName("all tests of a list pass on one node, a few of them alone")
  void longForm() throws Exception {
    List<String> names = Files.readAllLines(list());
    List<String> serial = names.stream().filter(name -> name.contains("[Serial]")).toList();
    List<String> parallel = names.stream().filter(name -> !name.contains("[Serial]")).toList();
    Map<String, Outcome> outcomes = new TreeMap<>();
    long began = System.nanoTime();
    outcomes.putAll(suite.run(node, parallel, PROCESSES, REPORTS.resolve("parallel"), LONG_LIMIT));
    List<String> again =
        parallel.stream().filter(name -> outcomes.get(name) != Outcome.PASSED).toList();
    if (!again.isEmpty() && again.size() <= AGAIN) {
      System.out.println("conformance: again, one by one: " + again);
      outcomes.putAll(suite.run(node, again, 1, REPORTS.resolve("again"), LONG_LIMIT));
    }
    if (!serial.isEmpty()) {
      outcomes.putAll(suite.run(node, serial, 1, REPORTS.resolve("serial"), LONG_LIMIT));
    }
    System.out.printf(
        "conformance: %d of %d tests passed in %d s%n",
        names.stream().filter(name -> outcomes.get(name) == Outcome.PASSED).count(),
        names.size(),
        Duration.ofNanos(System.nanoTime() - began).toSeconds());
    printGroups(names, outcomes);
    requirePassed(names, outcomes);
  }

  private static Path list() throws IOException {
    String named = System.getProperty("polis.conformance.names", "");
    if (!named.isEmpty()) {
      return Path.of(named);
    }
    return ConformanceSuite.list()
        .orElseGet(
            () ->
                Assumptions.abort(
                    "there is no list of the conformance suite beside its archive; -Dpolis.conformance.names=FILE may name one"));
  }

  private static void printGroups(List<String> names, Map<String, Outcome> outcomes) {
    names.stream()
        .collect(Collectors.groupingBy(ConformanceIT::group, TreeMap::new, Collectors.toList()))
        .forEach(
            (group, members) ->
                System.out.printf(
                    "conformance: %s %d of %d%n",
                    group,
                    members.stream().filter(name -> outcomes.get(name) == Outcome.PASSED).count(),
                    members.size()));
  }

  /** Returns the part of a name in its first brackets, such as {@code sig-node}. */
  private static String group(String name) {
    return name.substring(1, name.indexOf(']'));
  }

  private static void requirePassed(List<String> names, Map<String, Outcome> outcomes) {
    assertEquals(
        List.of(),
        names.stream()
            .filter(name -> outcomes.get(name) != Outcome.PASSED)
            .map(name -> "%s: %s".formatted(outcomes.get(name), name))
            .toList());
  }
}
