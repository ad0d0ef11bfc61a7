package dev.polis.container.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.storage.Storage;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.RunningProcess;
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
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.BundleWiring;

/**
 * Stops, starts, updates and downgrades every organ of one node that is HOME, with the framework's
 * own calls, and updates it to one that cannot be wired. All share the node, whose start costs more
 * than most of them.
 */
@Tag("longer")
@ContainerTest
public class OrganContainerTest {
  private static final List<String> LEAVES =
      List.of("management", "debug", "metrics", "containers", "kubernetes");

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

  /** Ends the node and its etcd. */
  @AfterAll
  public static void powerOff() throws Exception {
    List<RunningProcess> children =
        ContainedNode.children().stream()
            .flatMap(child -> RunningProcess.find(child).stream())
            .toList();
    for (String leaf : LEAVES) {
      ContainedNode.bundle(leaf).stop();
    }
    node.powerOff();
    for (RunningProcess child : children) {
      Await.until(Bundles.PATIENCE, child + " to end with the node", () -> !child.runs());
    }
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

  @Test
  @DisplayName("the organs come up to HOME, each with a service and a place in the tree")
  public void theOrgansAreHome() throws Exception {
    awaitAll("at rest");
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
    awaitAll("before the stop of " + organ);
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
    awaitAll("after " + organ + " came back");
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
  @DisplayName(
      "an organ is updated to its next version, which runs from a new loader, and downgraded to the previous one; the others are not affected")
  public void updatedAndDowngraded(String organ) throws Exception {
    awaitAll("before the update of " + organ);
    List<Long> children = ContainedNode.children();
    Bundle bundle = ContainedNode.bundle(organ);
    var before = bundle.getVersion();
    int loader = loader(bundle);

    update(bundle, OtherVersion.file(bundle));
    assertNotEquals(before, bundle.getVersion());
    assertNotEquals(loader, loader(bundle), organ + " runs from its old loader");
    awaitAll("after the update of " + organ);

    update(bundle, OtherVersion.jar(bundle));
    assertEquals(before, bundle.getVersion());
    assertEquals(Bundle.ACTIVE, bundle.getState());
    awaitAll("after the downgrade of " + organ);
    assertEquals(children, ContainedNode.children(), "etcd was restarted");
  }

  /** Returns an identity of a loader, without keeping the loader reachable. */
  private static int loader(Bundle bundle) {
    return System.identityHashCode(bundle.adapt(BundleWiring.class).getClassLoader());
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
        LockSupport.parkNanos(NodeLoad.PAUSE);
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
  @DisplayName(
      "rounds of updates of all organs leave no service, no MBean, no thread, no loader and no class")
  public void nothingAccumulates() throws Exception {
    // One-time objects of the first update are no leak. gRPC and Netty keep some exceptions of
    // their first use, and the stack of each refers to the loader of the organ that was first.
    updateAll(new Residue());
    Residue residue = new Residue();
    List<String> services = services();
    Map<String, Integer> threads = Residue.threads();
    int beans = ManagementFactory.getPlatformMBeanServer().getMBeanCount();
    System.gc();
    long metaspace = metaspace();
    for (int round = 0; round < ROUNDS; round++) {
      updateAll(residue);
    }
    residue.awaitCollected(LOADERS_BY_CHANCE);
    assertEquals(services, services());
    assertEquals(beans, ManagementFactory.getPlatformMBeanServer().getMBeanCount(), "MBeans");
    long grown = metaspace() - metaspace;
    System.out.printf("metaspace: %+d KiB in %d rounds of 11 updates%n", grown / 1024, ROUNDS);
    assertTrue(grown <= METASPACE, () -> "metaspace has grown by " + grown + " bytes");
    awaitThreads(threads);
  }

  private static void updateAll(Residue residue) throws Exception {
    for (String organ : Stream.concat(ContainedNode.ORGANS.stream(), LEAVES.stream()).toList()) {
      residue.note(organ);
      ContainedNode.bundle(organ).update();
    }
    awaitAll("after all organs were updated");
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
