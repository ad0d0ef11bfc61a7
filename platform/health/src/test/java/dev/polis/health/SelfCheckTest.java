package dev.polis.health;

import dev.polis.base.values.Watcher;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class SelfCheckTest {

  /** Long enough for the test to see each finding; in a node it is 5 s. */
  private static final Duration EVERY = Duration.ofSeconds(1);

  @Test
  @DisplayName("a check's findings are published, replaced by the next ones, and withdrawn")
  void looksAgain() throws Exception {
    var found =
        List.of(
                Optional.of(HealthCondition.degraded("one", "it is so", "mend it")),
                Optional.of(HealthCondition.down("two", "it is worse", "mend it")),
                Optional.<HealthCondition>empty())
            .iterator();
    try (SupervisionTree tree = SupervisionTree.open(LogTree.create());
        HealthTable health = HealthTable.open(tree)) {
      Subtree organ = tree.organ("debug");
      HealthScope scope = health.organ("debug", organ.dn());
      organ.run(
          "look",
          SelfCheck.task(scope, () -> found.hasNext() ? found.next() : Optional.empty(), EVERY));

      // The state of the runnable arrives by another thread, before or after its findings.
      await(health, List.of("one")::equals);
      await(health, List.of("two")::equals);
      await(health, List::isEmpty);
    }
  }

  @Test
  @DisplayName("a failing check fails its runnable, and withdraws the published findings")
  void fails() throws Exception {
    var found = List.of(HealthCondition.degraded("one", "it is so", "mend it")).iterator();
    try (SupervisionTree tree = SupervisionTree.open(LogTree.create());
        HealthTable health = HealthTable.open(tree)) {
      Subtree organ = tree.organ("debug");
      HealthScope scope = health.organ("debug", organ.dn());
      organ.run(
          "look",
          SelfCheck.task(
              scope,
              () -> {
                if (found.hasNext()) {
                  return Optional.of(found.next());
                }
                throw new IOException("the disk is gone");
              },
              EVERY));

      await(health, codes -> codes.contains("one"));
      await(health, List.of("runnable-failed")::equals);
    }
  }

  private static void await(HealthTable health, Predicate<List<String>> wanted) throws Exception {
    try (Watcher<List<HealthStatus>> watcher = health.all().watch()) {
      watcher.get(all -> wanted.test(codes(all)), Duration.ofSeconds(30));
    }
  }

  private static List<String> codes(List<HealthStatus> all) {
    return all.getFirst().conditions().stream().map(HealthCondition::code).toList();
  }
}
