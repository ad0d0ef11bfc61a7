package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.BundleWiring;

/** The organs of a node that is home, each taken away and put back. */
@ContainerTest
public class OrganContainerTest {

  /** Rounds after which the JVM is looked at: what is left once a round stands out by as many. */
  private static final int ROUNDS = Boolean.getBoolean("polis.long") ? 20 : 3;

  /**
   * How many threads may be there by chance while rounds leave none behind: a call under way and an
   * idle carrier of virtual threads. Less than one a round.
   */
  private static final int THREADS_BY_CHANCE = 2;

  private static ContainedNode node;

  /** Creates a cluster of one. */
  @BeforeAll
  public static void bringHome() throws Exception {
    node = ContainedNode.create();
  }

  /** Ends the node; etcd goes with it. */
  @AfterAll
  public static void powerOff() throws Exception {
    Optional<ProcessHandle> etcd = ProcessHandle.of(ContainedNode.etcd());
    node.powerOff();
    Await.until(
        Bundles.PATIENCE,
        "etcd to end with the node",
        () -> etcd.map(process -> !process.isAlive()).orElse(true));
  }

  @Test
  @DisplayName("the organs come up to HOME, each with a service and a place in the tree")
  public void theOrgansAreHome() throws Exception {
    node.awaitHome("at rest");
    assertEquals(List.of(), Bundles.waiting());
    for (String organ : ContainedNode.ORGANS) {
      assertFalse(node.services(organ).isEmpty(), organ + " offers nothing");
      assertEquals(Bundle.ACTIVE, ContainedNode.bundle(organ).getState(), organ);
    }
  }

  @Test
  @DisplayName("organs see the launcher's contract through the system bundle, and no other organ")
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
                    "dev.polis.boot"
                        .equals(wire.getCapability().getAttributes().get("osgi.wiring.package")))
            .map(wire -> wire.getProvider().getBundle())
            .findFirst()
            .orElseThrow();
    assertEquals(Constants.SYSTEM_BUNDLE_ID, boot.getBundleId());
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"storage", "network", "consensus", "curator", "cluster", "roles"})
  @DisplayName("an organ that is stopped leaves nothing, and all is back when it is started")
  public void anOrganGoesAndComes(String organ) throws Exception {
    node.awaitHome("before the stop of " + organ);
    long etcd = ContainedNode.etcd();
    Bundle bundle = ContainedNode.bundle(organ);
    bundle.stop();
    assertEquals(Bundle.RESOLVED, bundle.getState());
    assertEquals(Set.of(), Bundles.services(bundle));
    assertEquals(Set.of(), ContainedNode.supervised(organ));
    bundle.start();
    node.awaitHome("after " + organ + " came back");
    assertEquals(List.of(), Bundles.waiting());
    assertEquals(etcd, ContainedNode.etcd(), "etcd was restarted by a swap of " + organ);
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"storage", "network", "consensus", "curator", "cluster", "roles"})
  @DisplayName("an organ that is updated runs from a new loader, and nobody else notices")
  public void anOrganIsUpdated(String organ) throws Exception {
    node.awaitHome("before the update of " + organ);
    long etcd = ContainedNode.etcd();
    int loader = loader(organ);
    ContainedNode.bundle(organ).update();
    assertNotEquals(loader, loader(organ), organ + " runs from its old loader");
    assertEquals(Bundle.ACTIVE, ContainedNode.bundle(organ).getState());
    node.awaitHome("after the update of " + organ);
    assertEquals(etcd, ContainedNode.etcd(), "etcd was restarted by an update of " + organ);
  }

  /** Tells loaders apart without holding one. */
  private static int loader(String organ) {
    return System.identityHashCode(
        ContainedNode.bundle(organ).adapt(BundleWiring.class).getClassLoader());
  }

  @Test
  @DisplayName("rounds of updates of all organs leave no loader and no thread")
  public void nothingAccumulates() throws Exception {
    // What is made once, at the first update, is no leak.
    updateAll(new Residue());
    Map<String, Integer> before = Residue.threads();
    Residue residue = new Residue();
    for (int round = 0; round < ROUNDS; round++) {
      updateAll(residue);
    }
    residue.awaitCollected();
    awaitThreads(before);
  }

  private static void updateAll(Residue residue) throws Exception {
    for (String organ : ContainedNode.ORGANS) {
      residue.note(organ);
      ContainedNode.bundle(organ).update();
    }
    node.awaitHome("after all organs were updated");
  }

  /** What is on its way out gets the time to go. */
  private static void awaitThreads(Map<String, Integer> before) throws Exception {
    Map<String, Integer> after = new HashMap<>();
    try {
      Await.until(
          Bundles.PATIENCE,
          "no more threads than before",
          () -> {
            after.clear();
            after.putAll(Residue.threads());
            return Residue.count(after) <= Residue.count(before) + THREADS_BY_CHANCE;
          });
    } catch (AssertionError e) {
      List<String> more = new ArrayList<>();
      after.forEach(
          (name, count) -> {
            int was = before.getOrDefault(name, 0);
            if (count > was) {
              more.add("%s: %d -> %d".formatted(name, was, count));
            }
          });
      throw new AssertionError(
          "%d threads became %d in %d rounds: %s"
              .formatted(Residue.count(before), Residue.count(after), ROUNDS, more),
          e);
    }
  }
}
