package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.RunningProcess;
import dev.polis.fixtures.Tier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.BundleWiring;

/** Stops and starts each organ of a node that is HOME. */
@Tag("longer")
@ContainerTest
public class OrganContainerTest {

  /** The rounds before the JVM is examined: one leak in each round adds up to this many. */
  private static final int ROUNDS = Tier.isLong() ? 10 : 3;

  /**
   * The threads that the rounds may add by chance: a call under way and an idle carrier of virtual
   * threads. Fewer than one per round.
   */
  private static final int THREADS_BY_CHANCE = 2;

  /**
   * The former loaders of an organ that may stay reachable by chance: a library's first use may
   * keep one for good, as {@link #nothingAccumulates} explains. Fewer than one per round.
   */
  private static final int LOADERS_BY_CHANCE = 1;

  private static final ContainedNode node = new ContainedNode();

  /** Creates a cluster of one node. */
  @BeforeAll
  public static void bringHome() throws Exception {
    node.create();
  }

  /** Ends the node and its etcd. */
  @AfterAll
  public static void powerOff() throws Exception {
    List<RunningProcess> children =
        ContainedNode.children().stream()
            .flatMap(child -> RunningProcess.find(child).stream())
            .toList();
    node.powerOff();
    for (RunningProcess child : children) {
      Await.until(Bundles.PATIENCE, child + " to end with the node", () -> !child.runs());
    }
  }

  @Test
  @DisplayName("the organs come up to HOME, each with a service and a place in the tree")
  public void theOrgansAreHome() throws Exception {
    node.awaitHome("at rest");
    assertEquals(List.of(), Bundles.waiting());
    assertEquals(1, ContainedNode.children().size(), "etcd alone is a process of its own");
    for (String organ : ContainedNode.ORGANS) {
      assertFalse(node.services(organ).isEmpty(), organ + " offers nothing");
      assertEquals(Bundle.ACTIVE, ContainedNode.bundle(organ).getState(), organ);
    }
  }

  @Test
  @DisplayName(
      "organs see the launcher's contract through the system bundle, and see no other organ")
  public void organsAreWiredToThePlatformAlone() {
    Set<Bundle> organs =
        ContainedNode.ORGANS.stream().map(ContainedNode::bundle).collect(Collectors.toSet());
    for (Bundle organ : organs) {
      Set<Bundle> providers =
          organ.adapt(BundleWiring.class).getRequiredWires(null).stream()
              .map(wire -> wire.getProvider().getBundle())
              .collect(Collectors.toSet());
      assertTrue(
          providers.stream().noneMatch(organs::contains), () -> organ + " uses " + providers);
    }
    Bundle boot =
        ContainedNode.bundle("storage").adapt(BundleWiring.class).getRequiredWires(null).stream()
            .filter(
                wire ->
                    "dev.polis.base.boot"
                        .equals(wire.getCapability().getAttributes().get("osgi.wiring.package")))
            .map(wire -> wire.getProvider().getBundle())
            .findFirst()
            .orElseThrow();
    assertEquals(Constants.SYSTEM_BUNDLE_ID, boot.getBundleId());
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "storage, network consensus curator cluster roles",
    "network, consensus curator cluster roles",
    "consensus, curator cluster roles",
    "curator, cluster roles",
    "cluster, roles",
    "roles, ''"
  })
  @DisplayName("organs that need a stopped organ stop with it, and all come back")
  public void anOrganGoesAndComes(String organ, String needing) throws Exception {
    node.awaitHome("before the stop of " + organ);
    List<Long> children = ContainedNode.children();
    Bundle bundle = ContainedNode.bundle(organ);
    List<String> goneWithIt = List.of((organ + " " + needing).strip().split(" "));
    bundle.stop();
    try {
      assertEquals(Bundle.RESOLVED, bundle.getState());
      for (String each : ContainedNode.ORGANS) {
        requirePresence(each, !goneWithIt.contains(each), "after the stop of " + organ);
      }
    } finally {
      bundle.start();
    }
    node.awaitHome("after " + organ + " came back");
    assertEquals(List.of(), Bundles.waiting());
    assertEquals(children, ContainedNode.children(), "etcd was restarted by a swap of " + organ);
  }

  private static void requirePresence(String organ, boolean present, String when) throws Exception {
    Set<String> services = Bundles.services(ContainedNode.bundle(organ));
    assertEquals(
        present ? node.services(organ) : Set.of(),
        services,
        () -> "services of " + organ + " " + when);
    assertEquals(
        present,
        !ContainedNode.supervised(organ).isEmpty(),
        () -> organ + " in the supervision tree " + when);
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"storage", "network", "consensus", "curator", "cluster", "roles"})
  @DisplayName("an updated organ runs from a new loader, and the others are not affected")
  public void anOrganIsUpdated(String organ) throws Exception {
    node.awaitHome("before the update of " + organ);
    List<Long> children = ContainedNode.children();
    int loader = loader(organ);
    ContainedNode.bundle(organ).update();
    assertNotEquals(loader, loader(organ), organ + " runs from its old loader");
    assertEquals(Bundle.ACTIVE, ContainedNode.bundle(organ).getState());
    node.awaitHome("after the update of " + organ);
    assertEquals(children, ContainedNode.children(), "etcd was restarted by an update of " + organ);
  }

  /** Returns an identity of a loader, without keeping the loader reachable. */
  private static int loader(String organ) {
    return System.identityHashCode(
        ContainedNode.bundle(organ).adapt(BundleWiring.class).getClassLoader());
  }

  @Test
  @DisplayName("rounds of updates of all organs leave no loader and no thread")
  public void nothingAccumulates() throws Exception {
    // One-time objects of the first update are no leak. gRPC and Netty keep some exceptions of
    // their first use, and the stack of each refers to the loader of the organ that was first.
    updateAll(new Residue());
    Map<String, Integer> before = Residue.threads();
    Residue residue = new Residue();
    for (int round = 0; round < ROUNDS; round++) {
      updateAll(residue);
    }
    residue.awaitCollected(LOADERS_BY_CHANCE);
    awaitThreads(before);
  }

  private static void updateAll(Residue residue) throws Exception {
    for (String organ : ContainedNode.ORGANS) {
      residue.note(organ);
      ContainedNode.bundle(organ).update();
    }
    node.awaitHome("after all organs were updated");
    // This work begins when the node is HOME, and has threads that are counted.
    Await.until(
        Bundles.PATIENCE,
        "the role server to be connected",
        () ->
            ContainedNode.supervised("roles").stream()
                .anyMatch(dn -> dn.endsWith(".server.heartbeat")));
  }

  /** Gives objects that are about to end the time to do so. */
  private static void awaitThreads(Map<String, Integer> before) throws Exception {
    Map<String, Integer> after = new HashMap<>();
    Await.until(
        Bundles.PATIENCE,
        "no more threads than before",
        () -> {
          after.clear();
          after.putAll(Residue.threads());
          return Residue.count(after) <= Residue.count(before) + THREADS_BY_CHANCE;
        },
        () -> "%s became %s in %d rounds".formatted(before, after, ROUNDS));
  }
}
