package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.storage.Storage;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Tier;
import dev.polis.handover.following.ServiceAwayException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;

/**
 * Stops, starts, updates and downgrades every organ of a node that is HOME, with the framework's
 * own calls, and updates it to one that cannot be wired.
 */
@Tag("longer")
@ContainerTest
public class OrganLifeContainerTest {
  private static final List<String> LEAVES =
      List.of("management", "debug", "metrics", "containers", "kubernetes");

  /** The rounds before the JVM is examined. */
  private static final int ROUNDS = Tier.isLong() ? 10 : 3;

  /**
   * The allowed growth of metaspace over the rounds: less than a leak, which adds one organ's
   * classes in each round.
   */
  private static final long METASPACE = 2L * 1024 * 1024;

  private static final ContainedNode node = new ContainedNode();

  /** The services that each leaf offered after its start. */
  private static final Map<String, Set<String>> leaves = new HashMap<>();

  /** Creates a cluster of one node with all organs. */
  @BeforeAll
  public static void bringHome() throws Exception {
    node.create();
    for (String leaf : LEAVES) {
      ContainedNode.bundle(leaf).start();
    }
    Await.until(
        Bundles.PATIENCE, "the organs above to be active", () -> Bundles.waiting().isEmpty());
    for (String leaf : LEAVES) {
      leaves.put(leaf, Bundles.services(ContainedNode.bundle(leaf)));
    }
  }

  /** Ends the node. */
  @AfterAll
  public static void powerOff() throws Exception {
    for (String leaf : LEAVES) {
      ContainedNode.bundle(leaf).stop();
    }
    node.powerOff();
  }

  private static void awaitAll(String when) throws Exception {
    node.awaitHome(when);
    for (String leaf : LEAVES) {
      Await.until(
          Bundles.PATIENCE,
          leaf + " to offer the same services as before, " + when,
          () -> Bundles.services(ContainedNode.bundle(leaf)).equals(leaves.get(leaf)));
    }
    assertEquals(List.of(), Bundles.waiting(), when);
  }

  private static void update(Bundle bundle, Path jar) throws Exception {
    try (InputStream in = Files.newInputStream(jar)) {
      bundle.update(in);
    }
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"management", "debug", "metrics", "containers", "kubernetes"})
  @DisplayName("an organ that no other needs is stopped alone, and comes back")
  public void aLeafGoesAndComes(String leaf) throws Exception {
    awaitAll("before the stop of " + leaf);
    Bundle bundle = ContainedNode.bundle(leaf);
    bundle.stop();
    try {
      assertEquals(Set.of(), Bundles.services(bundle));
      assertEquals(Set.of(), ContainedNode.supervised(leaf));
      node.awaitHome("without " + leaf);
    } finally {
      bundle.start();
    }
    awaitAll("after " + leaf + " came back");
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(
      strings = {
        "storage",
        "network",
        "consensus",
        "curator",
        "cluster",
        "roles",
        "management",
        "debug",
        "metrics",
        "containers",
        "kubernetes"
      })
  @DisplayName("an organ is updated to its next version, and downgraded to the previous one")
  public void updatedAndDowngraded(String organ) throws Exception {
    awaitAll("before the update of " + organ);
    List<Long> children = ContainedNode.children();
    Bundle bundle = ContainedNode.bundle(organ);
    var before = bundle.getVersion();

    update(bundle, OtherVersion.file(bundle));
    assertNotEquals(before, bundle.getVersion());
    awaitAll("after the update of " + organ);

    update(bundle, OtherVersion.jar(bundle));
    assertEquals(before, bundle.getVersion());
    assertEquals(Bundle.ACTIVE, bundle.getState());
    awaitAll("after the downgrade of " + organ);
    assertEquals(children, ContainedNode.children(), "etcd was restarted");
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(
      strings = {
        "storage",
        "network",
        "consensus",
        "curator",
        "cluster",
        "roles",
        "management",
        "debug",
        "metrics",
        "containers",
        "kubernetes"
      })
  @DisplayName(
      "an update that cannot be wired runs none of its code, and the next valid one comes HOME")
  public void updatedToABrokenOne(String organ) throws Exception {
    awaitAll("before the broken update of " + organ);
    List<Long> children = ContainedNode.children();
    Bundle bundle = ContainedNode.bundle(organ);

    Path broken = OtherVersion.importing(bundle, "org.example.nowhere");
    BundleException refused =
        assertThrows(BundleException.class, () -> updateAndStart(bundle, broken));
    assertTrue(refused.getMessage().contains("org.example.nowhere"), refused::getMessage);
    assertEquals(Bundle.INSTALLED, bundle.getState());
    assertEquals(Set.of(), Bundles.services(bundle));
    assertEquals(Set.of(), ContainedNode.supervised(organ));

    updateAndStart(bundle, OtherVersion.jar(bundle));
    awaitAll("after the broken update of " + organ);
    assertEquals(children, ContainedNode.children(), "etcd was restarted");
  }

  /**
   * The framework restarts a bundle after an update only if it can be wired, and otherwise logs the
   * reason.
   */
  private static void updateAndStart(Bundle bundle, Path jar) throws Exception {
    update(bundle, jar);
    bundle.start();
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"storage", "consensus"})
  @DisplayName(
      "calls during the absence of their provider are answered or refused with a reason, and none hangs")
  public void providerGoneWhileItIsCalled(String organ) throws Exception {
    awaitAll("before the calls to " + organ);
    AtomicLong answered = new AtomicLong();
    AtomicLong refused = new AtomicLong();
    Queue<Throwable> other = new ConcurrentLinkedQueue<>();
    List<Thread> callers = new ArrayList<>();
    for (int caller = 0; caller < 4; caller++) {
      callers.add(
          Thread.ofVirtual().start(() -> callUntilInterrupted(organ, answered, refused, other)));
    }
    try {
      awaitMore(answered, "answers of " + organ);
      ContainedNode.bundle(organ).stop();
      awaitMore(refused, "refusals while " + organ + " is gone");
      ContainedNode.bundle(organ).start();
      awaitAll("after " + organ + " came back");
      awaitMore(answered, "answers of " + organ + " after it came back");
    } finally {
      for (Thread caller : callers) {
        caller.interrupt();
        assertTrue(caller.join(Bundles.PATIENCE), "a call hangs");
      }
    }
    assertEquals(List.of(), List.copyOf(other));
  }

  private static void awaitMore(AtomicLong count, String what) throws Exception {
    long before = count.get();
    Await.until(Bundles.PATIENCE, what, () -> count.get() > before + 10);
  }

  private static void callUntilInterrupted(
      String organ, AtomicLong answered, AtomicLong refused, Queue<Throwable> other) {
    while (!Thread.currentThread().isInterrupted()) {
      try {
        if (call(organ)) {
          answered.incrementAndGet();
        } else {
          refused.incrementAndGet();
        }
        Thread.yield();
      } catch (ServiceAwayException e) {
        refused.incrementAndGet();
      } catch (RuntimeException e) {
        other.add(e);
      }
    }
  }

  /** Calls a provider; returns false if there is none. */
  private static boolean call(String organ) {
    return organ.equals("storage")
        ? with(Storage.class, storage -> storage.data().peek())
        : with(Consensus.class, consensus -> consensus.status().peek());
  }

  private static <S> boolean with(Class<S> type, Consumer<S> call) {
    var reference = Bundles.context().getServiceReference(type);
    S service = reference == null ? null : Bundles.context().getService(reference);
    if (service == null) {
      return false;
    }
    try {
      call.accept(service);
      return true;
    } finally {
      Bundles.context().ungetService(reference);
    }
  }

  @Test
  @DisplayName("rounds of updates of all organs leave no service, no MBean, no loader and no class")
  public void nothingAccumulates() throws Exception {
    // The first update makes one-time objects.
    updateAll(new Residue());
    Residue residue = new Residue();
    List<String> services = services();
    int beans = ManagementFactory.getPlatformMBeanServer().getMBeanCount();
    System.gc();
    long metaspace = metaspace();
    for (int round = 0; round < ROUNDS; round++) {
      updateAll(residue);
    }
    residue.awaitCollected(1);
    assertEquals(services, services());
    assertEquals(beans, ManagementFactory.getPlatformMBeanServer().getMBeanCount(), "MBeans");
    long grown = metaspace() - metaspace;
    System.out.printf("metaspace: %+d KiB in %d rounds of 10 updates%n", grown / 1024, ROUNDS);
    assertTrue(grown <= METASPACE, () -> "metaspace has grown by " + grown + " bytes");
  }

  private static void updateAll(Residue residue) throws Exception {
    for (String organ : Stream.concat(ContainedNode.ORGANS.stream(), LEAVES.stream()).toList()) {
      residue.note(organ);
      ContainedNode.bundle(organ).update();
    }
    awaitAll("after all organs were updated");
  }

  /** Returns the types of all services, sorted, with one entry per service. */
  private static List<String> services() {
    return Arrays.stream(Bundles.context().getBundles())
        .flatMap(
            bundle ->
                bundle.getRegisteredServices() == null
                    ? Stream.empty()
                    : Arrays.stream(bundle.getRegisteredServices()))
        .map(service -> String.join(" ", (String[]) service.getProperty("objectClass")))
        .sorted()
        .toList();
  }

  private static long metaspace() {
    MemoryPoolMXBean pool =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(each -> each.getName().equals("Metaspace"))
            .findFirst()
            .orElseThrow();
    assertFalse(pool.getUsage().getUsed() == 0);
    return pool.getUsage().getUsed();
  }
}
