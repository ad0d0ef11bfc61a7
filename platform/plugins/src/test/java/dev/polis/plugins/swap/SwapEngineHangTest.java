package dev.polis.plugins.swap;

import static dev.polis.plugins.swap.SwapFixture.configure;
import static dev.polis.plugins.swap.SwapFixture.outcome;
import static dev.polis.plugins.swap.SwapFixture.swap;
import static dev.polis.plugins.swap.SwapFixture.words;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.plugins.swap.organs.TestOrgan;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;

/** Swaps bundles of a real framework while versions or listeners hang, or stay after their end. */
@Timeout(120)
class SwapEngineHangTest {
  @TempDir Path folder;

  private SwapFixture node;

  @BeforeEach
  void start() throws Exception {
    node = SwapFixture.start(folder);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @ParameterizedTest(name = "at {0}")
  @ValueSource(strings = {"begins", "switches", "ends"})
  @Tag("full") // Each swap waits for the listener as long as for a bundle that does not stop.
  @DisplayName("A listener that does not return holds a swap up for a limited time")
  void aListenerHangs(String where) throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    node.listeners.add(
        (SwapListener)
            Proxy.newProxyInstance(
                SwapListener.class.getClassLoader(),
                new Class<?>[] {SwapListener.class},
                (proxy, method, arguments) -> {
                  if (method.getName().equals(where)) {
                    never.await();
                  }
                  return null;
                }));

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertTrue(
        node.audit.stream().anyMatch(each -> each.contains("it took longer than")),
        node.audit::toString);
    node.requireNextWorks();
  }

  @Test
  @DisplayName(
      "A part that could not be reverted does not hinder later swaps, and is removed when it ends")
  void leftoversAreRemoved() throws Exception {
    node.engine =
        node.engine(
            SwapFixture.settings(SwapFixture.GATE, Duration.ofMillis(500), SwapFixture.LONG));
    SwapStatus left = node.run(swap(node.base("2.0.0", "unhealthy-hangs")));
    assertInstanceOf(SwapOutcome.CouldNotRevert.class, outcome(left), () -> words(left));
    assertEquals("1.0.0", node.served());

    SwapStatus next = node.run(swap(node.base("3.0.0", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
    assertEquals("3.0.0", node.served());

    endAndAwaitRemoval("2.0.0", List.of("above 1.0.0", "base 3.0.0"));
  }

  @ParameterizedTest(name = "one that {0}")
  @ValueSource(strings = {"hangs", "throws"})
  @DisplayName(
      "A predecessor that does not end does no harm: the swap succeeds, and health reports it")
  void thePredecessorDoesNotEnd(String how) throws Exception {
    node.run(swap(node.base("1.5.0", "end-" + how)));

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals("2.0.0", node.served());
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.generation());
    if (how.equals("throws")) {
      assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
      assertEquals(List.of(), node.stuck());
      return;
    }
    assertEquals(1, node.stuck().size(), "reported in the health");
    assertTrue(
        node.stuck().getFirst().contains("dev.polis.base did not stop"),
        () -> node.stuck().toString());

    SwapStatus next = node.run(swap(node.base("3.0.0", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
    SwapStatus configured = node.run(configure("dev.polis.base.port", "99"));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(configured), () -> words(configured));
    endAndAwaitRemoval("1.5.0", List.of("above 1.0.0", "base 3.0.0"));
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"cancelled", "a generation that cannot be written"})
  @DisplayName(
      "A swap whose predecessor cannot be restarted keeps the successor, which serves until a restart")
  void theSuccessorIsKept(String how) throws Exception {
    // The swap waits for the start of a hanging organ until its limit.
    node.engine =
        node.engine(
            SwapFixture.settings(
                SwapFixture.GATE,
                SwapFixture.LONG,
                MachineSpeed.measure().stretched(Duration.ofSeconds(2))));
    node.run(swap(node.base("1.5.0", "end-hangs")));
    List<String> ended = listenToEnds();
    if (how.equals("cancelled")) {
      node.cancelAt("switched");
    } else {
      node.block("generations/3");
    }

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.CouldNotRevert.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("dev.polis.base 2.0.0 runs on in its place"), () -> words(end));
    assertEquals("2.0.0", node.served());
    assertEquals(List.of("above 1.0.0", "base 1.5.0"), node.generation(), "for the next start");
    assertEquals(List.of("dev.polis.base true"), ended, "listeners");
    assertEquals(1, node.stuck().size(), () -> node.stuck().toString());

    // The kept version can be replaced like any other, and the hanging one disappears when it has
    // ended.
    Files.deleteIfExists(folder.resolve("plugins/generations/3/in-the-way"));
    Files.deleteIfExists(folder.resolve("plugins/generations/3"));
    node.onStage = stage -> {};
    SwapStatus next = node.run(swap(node.base("3.0.0", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
    assertEquals("3.0.0", node.served());
    endAndAwaitRemoval("1.5.0", List.of("above 1.0.0", "base 3.0.0"));
  }

  /** Records the replaced organs of each swap at its end, and whether the successors stay. */
  private List<String> listenToEnds() {
    List<String> ended = new ArrayList<>();
    node.listeners.add(
        new SwapListener() {
          @Override
          public void ends(List<Replacement> replacements, boolean applied) {
            replacements.forEach(each -> ended.add(each.symbolicName() + " " + applied));
          }
        });
    return ended;
  }

  /** Lets the hanging organ end, which removes it. */
  private void endAndAwaitRemoval(String version, List<String> left) throws Exception {
    assertTrue(
        node.organs().contains("base " + version + " state " + Bundle.STOPPING),
        () -> node.organs().toString());
    System.setProperty(TestOrgan.END_LOOPS, "true");
    Await.until(
        SwapFixture.PATIENCE,
        "the removal of the organ that hung",
        () -> node.organs().equals(left) && node.stuck().isEmpty());
  }

  @Test
  @DisplayName("A version that leaks is named with the objects that hold it; others are not named")
  void heldVersions() throws Exception {
    node.run(swap(node.base("2.0.0", "thread")));
    node.run(swap(node.base("3.0.0", "well")));
    node.run(swap(node.base("4.0.0", "well")));

    Await.until(SwapFixture.PATIENCE, "the leak to be noticed", () -> !node.held().isEmpty());
    // The other versions had the same time, and a collection.
    Await.until(
        SwapFixture.PATIENCE,
        "the leak to be the only one",
        () -> node.held().stream().noneMatch(each -> each.contains("3.0.0")));
    String words = node.held().getFirst();
    assertTrue(words.contains("dev.polis.base 2.0.0 by its threads, which run on: "), words);
    assertTrue(words.contains("leak-0"), words);

    System.setProperty(TestOrgan.END_LOOPS, "true");
    Await.until(
        SwapFixture.PATIENCE,
        "the leak to end with its thread",
        () -> {
          System.gc();
          return node.held().isEmpty();
        });
  }

  @Test
  @DisplayName("A bundle that hangs in its stop has a deadline, and the next swap runs")
  void aStopHasADeadline() throws Exception {
    node.run(swap(node.organ("aside", "1.0.0", "end-hangs", "", "", "")));

    Optional<String> trouble = node.engine.stop(node.bundle("dev.polis.aside"), "the test");

    assertTrue(trouble.orElse("").contains("it took longer than 4.0 s"), trouble::toString);
    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
  }
}
