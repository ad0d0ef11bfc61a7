package dev.polis.faults.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.power.ForceSite;
import dev.polis.fixtures.power.ForceSwitch;
import dev.polis.fixtures.power.PowerLoss;
import dev.polis.fixtures.power.PowerLoss.Effort;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Removes each call that makes data durable, one at a time, and compares docs/power-loss.md with
 * the failures. {@code -Dpolis.forces.write=true} writes the table anew.
 */
@Tag("full")
class ForceRemovalTest {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));
  private static final Path PAGE = REPOSITORY.resolve("docs/power-loss.md");
  private static final String BEGIN = "<!-- forces: written by ForceRemovalTest -->\n";
  private static final String END = "<!-- forces: end -->";

  /** More threads than processors, since most of a run waits for the kernel and the recorder. */
  private static final int WORKERS = 4;

  @Test
  void eachRemovedForceIsCaught() throws Exception {
    Set<ForceSite> sites = sites();
    assertTrue(sites.size() > 15, "only these sites were found: " + sites);
    Map<PowerScenarios, Set<ForceSite>> passed = new ConcurrentSkipListMap<>();
    together(Set.of(PowerScenarios.values()), each -> passed.put(each, passed(each, sites)));
    Map<ForceSite, String> caught = new ConcurrentSkipListMap<>();
    Set<String> missed = new ConcurrentSkipListSet<>();
    together(
        sites,
        site -> {
          List<PowerScenarios> tried =
              passed.keySet().stream().filter(each -> passed.get(each).contains(site)).toList();
          Optional<String> by = catcher(site, tried);
          by.ifPresentOrElse(
              name -> caught.put(site, name), () -> missed.add(site + " in " + tried));
        });
    assertEquals(Set.of(), missed, "these can be removed and no scenario fails");
    compare(table(caught));
  }

  private interface Work<T> {
    void on(T each) throws Exception;
  }

  private static <T> void together(Set<T> all, Work<T> work) throws Exception {
    List<Callable<Void>> parts = new ArrayList<>();
    for (T each : all) {
      parts.add(
          () -> {
            work.on(each);
            return null;
          });
    }
    try (ExecutorService workers = Executors.newFixedThreadPool(WORKERS)) {
      for (Future<Void> done : workers.invokeAll(parts)) {
        done.get();
      }
    }
  }

  private static Set<ForceSite> sites() throws IOException {
    Set<ForceSite> sites = new TreeSet<>();
    for (String floor : List.of("platform", "bundles", "launcher")) {
      try (Stream<Path> modules = Files.list(REPOSITORY.resolve(floor))) {
        for (Path module : modules.toList()) {
          Path classes = module.resolve("target/classes");
          if (Files.isDirectory(classes)) {
            sites.addAll(ForceSite.in(classes));
          }
        }
      }
    }
    return sites;
  }

  /** Requires no violation without a removal; returns the calls that the scenario passes. */
  private static Set<ForceSite> passed(PowerScenarios scenario, Set<ForceSite> sites)
      throws Exception {
    ForceSwitch classes = new ForceSwitch();
    PowerLoss.Outcome whole = PowerLoss.run(scenario.open(classes), Effort.ACKNOWLEDGED);
    assertEquals(List.of(), whole.violations(), scenario.toString());
    return sites.stream().filter(classes::passed).collect(Collectors.toSet());
  }

  private static Optional<String> catcher(ForceSite site, List<PowerScenarios> tried)
      throws Exception {
    for (PowerScenarios scenario : tried) {
      PowerLoss.Outcome outcome =
          PowerLoss.run(scenario.open(ForceSwitch.without(site)), Effort.ACKNOWLEDGED);
      if (!outcome.violations().isEmpty()) {
        System.out.printf("removed %s: %s: %s%n", site, scenario, outcome.violations().getFirst());
        return Optional.of(scenario.name());
      }
    }
    return Optional.empty();
  }

  private static String table(Map<ForceSite, String> caught) {
    StringBuilder text =
        new StringBuilder("| removed | caught by PowerLossTest with |\n|---|---|\n");
    caught.forEach((site, by) -> text.append("| `%s` | %s |\n".formatted(site, by)));
    return text.toString();
  }

  private static void compare(String table) throws IOException {
    String page = Files.readString(PAGE);
    int begin = page.indexOf(BEGIN) + BEGIN.length();
    int end = page.indexOf(END);
    if (Boolean.getBoolean("polis.forces.write")) {
      Files.writeString(PAGE, page.substring(0, begin) + table + page.substring(end));
      return;
    }
    assertEquals(
        page.substring(begin, end),
        table,
        PAGE + " is out of date: -Dpolis.forces.write=true writes it anew");
  }
}
