package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.handover.following.FollowedServices;
import dev.polis.handover.following.ServiceSwap;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;

/** Lets another version of each deep organ take over beside the first, in a node under load. */
@ContainerTest
public class OrganSwapContainerTest {
  private static final int SWAPS = Integer.getInteger("polis.swaps", Tier.pick(2, 4, 4));

  /** The same number as in {@link OrganContainerTest}. */
  private static final int LOADERS_BY_CHANCE = 1;

  private static final ContainedNode node = new ContainedNode();

  /** Creates a cluster of one node. */
  @BeforeAll
  public static void bringHome() throws Exception {
    node.create();
  }

  /** Ends the node. */
  @AfterAll
  public static void powerOff() throws Exception {
    node.powerOff();
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"storage", "network", "consensus", "curator", "cluster", "roles"})
  @DisplayName("another version of a deep organ takes over, and nothing above it stops")
  public void anotherVersionTakesOver(String organ) throws Exception {
    node.awaitHome("before the swaps of " + organ);
    List<Long> children = ContainedNode.children();
    List<String> mounts = mounts();
    Map<String, List<Long>> others = registrations(organ);
    Residue residue = new Residue();
    List<Double> slowest = new ArrayList<>();
    long calls;
    try (NodeLoad load = NodeLoad.open(node)) {
      // Runs once without a measurement, so that one-time objects exist.
      swap(organ, residue);
      load.slowest();
      for (int swap = 0; swap < SWAPS; swap++) {
        swap(organ, residue);
        slowest.add(load.slowest());
        assertEquals(List.of(), load.troubles(), "in a swap of " + organ);
      }
      calls = load.calls();
    }
    assertEquals(others, registrations(organ), "an organ beside " + organ + " was deactivated");
    assertEquals(children, ContainedNode.children(), "etcd was restarted");
    assertEquals(mounts, mounts());
    node.awaitHome("after the swaps of " + organ);
    assertEquals(List.of(), Bundles.waiting());
    residue.awaitCollected(LOADERS_BY_CHANCE);
    slowest.sort(null);
    System.out.printf(
        "%s: %d swaps under %d calls, 0 failed; slowest call p50 %.1f ms, worst %.1f ms%n",
        organ, SWAPS, calls, slowest.get(slowest.size() / 2), slowest.getLast());
    assertTrue(calls > SWAPS, "the node was not used");
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"storage", "network", "consensus", "curator", "cluster", "roles"})
  @DisplayName("a version that fails after it took over gives the state back, and leaves nothing")
  public void aVersionThatFails(String organ) throws Exception {
    node.awaitHome("before another version of " + organ + " fails");
    List<Long> children = ContainedNode.children();
    List<String> mounts = mounts();
    Residue residue = new Residue();
    try (NodeLoad load = NodeLoad.open(node)) {
      for (int swap = 0; swap < SWAPS; swap++) {
        fail(organ, residue);
        assertEquals(List.of(), lost(load), "while another version of " + organ + " failed");
      }
    }
    // A load of its own: the failed version still refused the last calls of the first one.
    try (NodeLoad load = NodeLoad.open(node)) {
      swap(organ, new Residue());
      assertEquals(List.of(), load.troubles(), "in a swap of " + organ + " afterwards");
    }
    assertEquals(children, ContainedNode.children(), "etcd was restarted");
    assertEquals(mounts, mounts());
    node.awaitHome("after another version of " + organ + " failed");
    residue.awaitCollected(LOADERS_BY_CHANCE);
  }

  /** Returns the failed calls without those of the failed version that are to be repeated. */
  private static List<String> lost(NodeLoad load) {
    return load.troubles().stream()
        .filter(
            each ->
                !each.endsWith("UNAVAILABLE: another version replaces this curator; call again"))
        .toList();
  }

  private static void fail(String organ, Residue residue) throws Exception {
    Bundle first = ContainedNode.bundle(organ);
    Bundle second = OtherVersion.install(OtherVersion.failing(first));
    ServiceSwap swap =
        Bundles.ask(FollowedServices.class, services -> services.begin(first, second));
    try {
      second.start();
      residue.note(organ, second);
      assertFalse(Bundles.active(second), "its component was to fail");
      second.stop();
    } finally {
      swap.close();
    }
    second.uninstall();
    assertEquals(List.of(), Bundles.waiting(), "after the version that failed has gone");
  }

  private static void swap(String organ, Residue residue) throws Exception {
    Bundle first = ContainedNode.bundle(organ);
    Bundle second = OtherVersion.install(first);
    residue.note(organ);
    try (ServiceSwap swap =
        Bundles.ask(FollowedServices.class, services -> services.begin(first, second))) {
      second.start();
      Await.until(
          Bundles.PATIENCE,
          second + " to offer the same services as before",
          () -> Bundles.services(second).equals(node.services(organ)));
      swap.switchTo(second);
      first.stop();
    }
    first.uninstall();
  }

  /**
   * Returns the ids of the services of all organs but one, which a new activation of a component
   * would change.
   */
  private static Map<String, List<Long>> registrations(String without) {
    Map<String, List<Long>> numbers = new TreeMap<>();
    for (String organ : ContainedNode.ORGANS) {
      if (!organ.equals(without)) {
        List<Long> own = new ArrayList<>();
        for (ServiceReference<?> each : ContainedNode.bundle(organ).getRegisteredServices()) {
          own.add((Long) each.getProperty(Constants.SERVICE_ID));
        }
        numbers.put(organ, own.stream().sorted().toList());
      }
    }
    return numbers;
  }

  /** Returns the node's own mounts only, since other tests mount at the same time. */
  private static List<String> mounts() throws Exception {
    return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
        .filter(line -> line.contains(node.folder().toString()))
        .toList();
  }
}
