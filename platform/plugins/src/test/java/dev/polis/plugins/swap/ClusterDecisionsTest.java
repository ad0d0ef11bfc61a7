package dev.polis.plugins.swap;

import static dev.polis.plugins.swap.SwapFixture.swap;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.plugins.store.ClusterWants;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginOrigin;
import dev.polis.plugins.store.PluginOrigins;
import dev.polis.plugins.store.StoredPlugin;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Swaps by hand and by the cluster's decision, on a real framework. */
@Timeout(120)
class ClusterDecisionsTest {
  private static final SwapOptions HAND = SwapOptions.by("ann");

  @TempDir Path folder;
  private SwapFixture node;
  private Generation distribution;

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
    distribution = node.store.current().orElseThrow();
    node.store.putDistribution(distribution.origin(), distribution.plugins());
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  @DisplayName(
      "A manual swap to a version that the cluster does not want is refused with the reason")
  void byHandIsRefused() throws Exception {
    want(node.base("2.0.0", "well"));

    SwapStatus refused = node.run(swap(node.base("3.0.0", "well")), HAND);

    String why = outcome(refused).reason();
    assertInstanceOf(SwapOutcome.Refused.class, outcome(refused), why);
    assertTrue(why.startsWith("the cluster wants dev.polis.base 2.0.0 ("), why);
    assertTrue(why.contains("on each node, and this would run dev.polis.base 3.0.0"), why);
    assertTrue(why.contains("\"plugin pin dev.polis.base@3.0.0\" one that it has"), why);
    assertTrue(why.contains("\"plugin unpin dev.polis.base\" none"), why);
    assertTrue(why.contains("--force"), why);
    assertEquals("1.0.0", node.served());
  }

  @Test
  @DisplayName(
      "A version that the cluster wants may be swapped in by hand, and so may other plugins")
  void asWantedByHand() throws Exception {
    Path wanted = node.base("2.0.0", "well");
    want(wanted);

    assertApplied(node.run(swap(node.above("2.0.0", "well")), HAND));
    assertApplied(node.run(swap(wanted), HAND));

    assertEquals(new PluginOrigin.ByHand(), origin("dev.polis.above"));
    assertEquals("2.0.0", node.served());
  }

  @Test
  @DisplayName("A forced manual swap overrules the cluster, and reports the overruled decision")
  void forced() throws Exception {
    Path wanted = node.base("2.0.0", "well");
    want(wanted);

    assertApplied(node.run(swap(node.base("3.0.0", "well")), HAND.forced()));

    assertEquals(new PluginOrigin.Overruling(Digest.of(wanted)), origin("dev.polis.base"));
  }

  @Test
  @DisplayName(
      "A rollback is refused if it would undo a version that the cluster wants, and else runs")
  void rollback() throws Exception {
    Path wanted = node.base("2.0.0", "well");
    assertApplied(node.run(swap(wanted), SwapOptions.byCluster(false)));
    want(wanted);

    SwapStatus refused = node.run(new SwapOrder.Rollback(), HAND);
    assertInstanceOf(SwapOutcome.Refused.class, outcome(refused), outcome(refused).reason());
    want();
    assertApplied(node.run(new SwapOrder.Rollback(), HAND));

    assertEquals("1.0.0", node.served());
    assertEquals(new PluginOrigin.FromDistribution(), origin("dev.polis.base"));
  }

  @Test
  @DisplayName("Plugins of the cluster are distinguished from those that were swapped in by hand")
  void origins() throws Exception {
    assertApplied(node.run(swap(node.base("2.0.0", "well")), SwapOptions.byCluster(false)));
    assertApplied(node.run(swap(node.above("2.0.0", "well")), HAND));

    assertEquals(new PluginOrigin.FromCluster(), origin("dev.polis.base"));
    assertEquals(new PluginOrigin.ByHand(), origin("dev.polis.above"));
  }

  @Test
  @DisplayName("A plugin that is removed by force, although the cluster wants it, stays removed")
  void takenAway() throws Exception {
    Path wanted = node.organ("more", "1.0.0", "well", "", "", "");
    assertApplied(node.run(swap(wanted), SwapOptions.byCluster(false)));
    want(wanted);

    assertApplied(node.run(new SwapOrder.Remove("dev.polis.more"), HAND.forced()));

    assertEquals(new PluginOrigin.Overruling(Digest.of(wanted)), origin("dev.polis.more"));
  }

  @Test
  @DisplayName(
      "Adopting runs the distribution's version of one or all plugins, and keeps outside plugins")
  void adopt() throws Exception {
    assertApplied(node.run(swap(node.base("2.0.0", "well")), HAND));
    assertApplied(node.run(swap(node.above("2.0.0", "well")), HAND));
    assertApplied(node.run(swap(node.organ("more", "1.0.0", "well", "", "", "")), HAND));
    node.store.collect();

    assertApplied(node.run(new SwapOrder.Adopt(Set.of("dev.polis.base")), HAND));
    assertEquals(List.of("above 2.0.0", "base 1.0.0", "more 1.0.0"), node.generation());
    assertApplied(node.run(new SwapOrder.Adopt(Set.of()), HAND));

    assertEquals(List.of("above 1.0.0", "base 1.0.0", "more 1.0.0"), node.generation());
    assertEquals("1.0.0", node.served());
    assertEquals(new PluginOrigin.FromDistribution(), origin("dev.polis.above"));
    SwapStatus same = node.run(new SwapOrder.Adopt(Set.of()), HAND);
    assertInstanceOf(SwapOutcome.NothingToDo.class, outcome(same), outcome(same).reason());
  }

  @Test
  @DisplayName(
      "Adopting a plugin that the distribution does not have is refused with the nearest name")
  void adoptUnknown() throws Exception {
    SwapStatus refused = node.run(new SwapOrder.Adopt(Set.of("dev.polis.bsae")), HAND);

    assertEquals(
        "\"dev.polis.bsae\" did not come with the distribution; did you mean \"dev.polis.base\"?",
        outcome(refused).reason());
  }

  @Test
  @DisplayName(
      "The store keeps only files of the distribution and of plugins that the cluster wants")
  void collect() throws Exception {
    Path second = node.base("2.0.0", "well");
    want(second);
    for (String version : List.of("2.0.0", "3.0.0", "4.0.0", "5.0.0")) {
      assertApplied(node.run(swap(node.base(version, "well")), HAND.forced()));
    }

    for (StoredPlugin own : distribution.plugins()) {
      assertTrue(node.store.file(own.digest()).isPresent(), "gone: " + own);
    }
    assertTrue(node.store.file(Digest.of(second)).isPresent(), "wanted and gone");
    assertEquals(Optional.empty(), node.store.file(Digest.of(node.base("3.0.0", "well"))));
    want();
    node.store.collect();
    assertEquals(Optional.empty(), node.store.file(Digest.of(second)));
  }

  private void want(Path... jars) throws Exception {
    List<ClusterWants.Wanted> wanted =
        List.of(jars).stream()
            .map(jar -> new ClusterWants.Wanted(plugin(jar), "on each node"))
            .toList();
    Set<Digest> anywhere = Set.copyOf(wanted.stream().map(each -> each.plugin().digest()).toList());
    new ClusterWants(wanted, anywhere).write(node.store);
    assertEquals(new ClusterWants(wanted, anywhere), ClusterWants.read(node.store));
  }

  private static StoredPlugin plugin(Path jar) {
    try {
      return SwapFixture.plugin(jar);
    } catch (Exception e) {
      throw new AssertionError(jar + " is no bundle", e);
    }
  }

  private PluginOrigin origin(String name) throws Exception {
    return PluginOrigins.of(node.store)
        .of(node.store.current().orElseThrow(), distribution.plugins())
        .get(name);
  }

  private static SwapOutcome outcome(SwapStatus end) {
    return end.outcome().orElseThrow();
  }

  private static void assertApplied(SwapStatus end) {
    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), outcome(end).reason());
  }
}
