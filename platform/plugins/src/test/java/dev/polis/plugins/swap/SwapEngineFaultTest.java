package dev.polis.plugins.swap;

import static dev.polis.plugins.swap.SwapFixture.BEFORE;
import static dev.polis.plugins.swap.SwapFixture.configure;
import static dev.polis.plugins.swap.SwapFixture.outcome;
import static dev.polis.plugins.swap.SwapFixture.swap;
import static dev.polis.plugins.swap.SwapFixture.words;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Value;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.MachineSpeed;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.management.ObjectName;
import org.apache.felix.framework.BundleWiringImpl;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.osgi.framework.Bundle;

/** Swaps bundles of a real framework while participants of the swap fail, hang, or interfere. */
@Timeout(120)
class SwapEngineFaultTest {
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

  @Test
  @DisplayName(
      "A second swap is refused with the name of the one under way, which a cancellation ends in the former state")
  void oneAtATime() throws Exception {
    // The swap waits for a cancelled start until its limit.
    node.engine =
        node.engine(
            SwapFixture.settings(
                SwapFixture.GATE,
                SwapFixture.LONG,
                MachineSpeed.measure().stretched(Duration.ofSeconds(2))));
    Value<SwapStatus> first =
        node.engine.begin(swap(node.base("2.0.0", "sleeps")), SwapOptions.by("ann"));
    Await.value(
        first,
        status -> status.stages().stream().anyMatch(SwapStage.Installed.class::isInstance),
        SwapFixture.PATIENCE,
        "the swap to be under way");

    String refusal =
        assertThrows(
                SwapRefusedException.class,
                () -> node.engine.begin(swap(node.base("3.0.0", "well")), SwapOptions.by("bob")))
            .getMessage();
    assertTrue(refusal.contains("ordered by ann"), refusal);
    assertTrue(refusal.contains("plugin cancel"), refusal);

    node.engine.cancel("bob");
    SwapStatus end = SwapFixture.ended(first);
    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("cancelled by bob"), () -> words(end));
    assertEquals(BEFORE, node.organs());

    // A cancelled swap is no failure.
    SwapStatus next = node.run(swap(node.base("3.0.0", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
  }

  @ParameterizedTest(name = "at {0}")
  @ValueSource(
      strings = {
        "fetched",
        "verified",
        "resolved",
        "radius",
        "installed",
        "started",
        "proved",
        "switched",
        "gated"
      })
  @DisplayName("A swap that is cancelled at a stage ends in the former state")
  void cancelledAtEachStage(String stage) throws Exception {
    List<String> refusals = node.cancelAt(stage);

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertEquals(List.of(), refusals);
    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("cancelled by bob"), () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals(BEFORE, node.generation());
    assertEquals("1.0.0", node.served());
    assertEquals(Optional.empty(), SwapNotes.of(node.store).underWay());
  }

  @ParameterizedTest(name = "at {0}")
  @ValueSource(strings = {"committed", "retired"})
  @DisplayName("A committed swap is not cancelled, and the refusal names the rollback")
  void tooLateToCancel(String stage) throws Exception {
    List<String> refusals = node.cancelAt(stage);

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(1, refusals.size());
    assertTrue(refusals.getFirst().contains("plugin rollback"), refusals::toString);
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
  }

  @ParameterizedTest(name = "{1} at {0}")
  @CsvSource({
    "fetched, error", "verified, exception", "resolved, error", "radius, exception",
    "installed, error", "installed, exception", "started, error", "proved, exception",
    "switched, error", "gated, exception"
  })
  @DisplayName(
      "An error or exception at a stage ends the swap in the former state; the next one works")
  void thrownAtEachStage(String stage, String what) throws Exception {
    throwAt(stage, what);

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertTrue(words(end).contains("thrown by the test"), () -> words(end));
    assertTrue(
        outcome(end) instanceof SwapOutcome.Refused || outcome(end) instanceof SwapOutcome.Reverted,
        () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals("1.0.0", node.served());
    node.requireNextWorks();
  }

  @ParameterizedTest(name = "{1} at {0}")
  @CsvSource({"committed, error", "retired, exception"})
  @DisplayName("An error or exception after the commit is reported, and the new version stays")
  void thrownAfterTheCommit(String stage, String what) throws Exception {
    throwAt(stage, what);

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("thrown by the test"), () -> words(end));
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
    node.requireNextWorks();
  }

  @Test
  @DisplayName("An error while a swap is reverted is reported, and the old version is back")
  void thrownWhileItIsTakenBack() throws Exception {
    throwAt("reverting", "error");

    SwapStatus end = node.run(swap(node.base("2.0.0", "throws")));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("thrown by the test"), () -> words(end));
    assertEquals(BEFORE, node.organs());
    node.requireNextWorks();
  }

  @Test
  @DisplayName("A swap that is interrupted while it is reverted is not reported as refused")
  void interruptedWhileItIsTakenBack() throws Exception {
    node.onStage =
        stage -> {
          if (stage.equals("reverting")) {
            Thread.currentThread().interrupt();
          }
        };

    SwapStatus end = node.run(swap(node.base("2.0.0", "throws")));

    assertInstanceOf(SwapOutcome.CouldNotRevert.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("interrupted during its revert"), () -> words(end));
    SwapRecord last = node.engine.history().getLast();
    assertEquals("could not revert", last.outcome());
    assertEquals(Optional.of(last), SwapNotes.of(node.store).underWay(), "for the next start");
    assertEquals("1.0.0", node.served());
    node.onStage = stage -> {};
    node.requireNextWorks();
    assertEquals(Optional.of(last), SwapNotes.of(node.store).underWay(), "until then");
  }

  @Test
  @DisplayName("A swap that begins at the end of another one stays the newest")
  void theNextIsTheNewest() throws Exception {
    for (int pair = 0; pair < 100; pair++) {
      node.engine.begin(new SwapOrder.Rollback(), SwapOptions.by("ann"));
      Value<SwapStatus> next = beginAtTheEnd();
      long number = next.peek().orElseThrow().number();
      while (next.peek().orElseThrow().outcome().isEmpty()) {
        assertEquals(number, node.engine.newest().peek().orElseThrow().number());
      }
    }
  }

  /** Orders a swap until the running one has ended. */
  private Value<SwapStatus> beginAtTheEnd() {
    while (true) {
      try {
        return node.engine.begin(new SwapOrder.Rollback(), SwapOptions.by("bob"));
      } catch (SwapRefusedException underWay) {
        Thread.onSpinWait();
      }
    }
  }

  @ParameterizedTest(name = "one that {0}")
  @ValueSource(strings = {"unhealthy", "wide-then-fails"})
  @DisplayName(
      "A successor with another configuration that is not well goes with it: the old one has its own again")
  void theFormerConfigurationIsBack(String how) throws Exception {
    node.run(configure("dev.polis.base.port", "98"));
    ConfigurationSet wanted = ConfigurationSet.none().with("dev.polis.base", "port", "99");
    boolean beside = how.equals("unhealthy");
    node.prepareRollback(
        node.base("2.0.0", how), beside ? wanted : wanted.with("dev.polis.base", "depth", "5"));
    // Long enough for the former configuration, which has the same deadline.
    node.engine =
        node.engine(
            SwapFixture.settings(SwapFixture.GATE, Duration.ofSeconds(5), SwapFixture.LONG));
    Generation former = node.store.current().orElseThrow();
    List<String> configurations = node.configurations();
    List<String> switched = new ArrayList<>();
    node.onStage =
        stage -> {
          if (stage.equals("switched")) {
            switched.addAll(node.ports());
          }
        };

    SwapStatus end = node.run(new SwapOrder.Rollback());

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("nothing answers on port 1"), () -> words(end));
    assertEquals(beside ? List.of() : List.of("99"), switched, "where the gate was not passed");
    assertEquals(BEFORE, node.organs());
    assertEquals("1.0.0", node.served());
    assertEquals(List.of("98"), node.ports(), "what the component runs with");
    assertEquals(98, node.configuration("dev.polis.base").get("port"));
    assertEquals(null, node.configuration("dev.polis.base").get("depth"), "no key of 1.0.0");
    assertEquals(configurations, node.configurations(), "nothing is left for the successor");
    assertEquals(former, node.store.current().orElseThrow(), "what a restart begins with");
    node.requireNextWorks();
    assertEquals(List.of("98"), node.ports());
  }

  @Test
  @DisplayName("A listener that fails with an error does not prevent calls of the others")
  void aListenerThrows() throws Exception {
    List<Boolean> ended = new ArrayList<>();
    node.listeners.add(
        new SwapListener() {
          @Override
          public void begins(List<Replacement> replacements) {
            throw new AssertionError("thrown by the test");
          }

          @Override
          public void ends(List<Replacement> replacements, boolean applied) {
            throw new AssertionError("thrown by the test");
          }
        });
    node.listeners.add(
        new SwapListener() {
          @Override
          public void ends(List<Replacement> replacements, boolean applied) {
            ended.add(applied);
          }
        });

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(List.of(true), ended);
  }

  @Test
  @DisplayName("A swap whose thread cannot be started is refused, and the next one works")
  void noThread() throws Exception {
    ThreadFactory usual = node.threads;
    node.threads =
        work ->
            new Thread(work) {
              @Override
              public void start() {
                throw new InternalError("unable to create native thread");
              }
            };

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("unable to create native thread"), () -> words(end));
    assertEquals(Optional.of(end), node.engine.newest().peek());
    assertEquals(BEFORE, node.organs());
    node.threads = usual;
    assertEquals(Optional.empty(), node.engine.stop(node.bundle("dev.polis.above"), "the test"));
    assertEquals(Optional.empty(), node.engine.start(node.bundle("dev.polis.above"), "the test"));
    node.requireNextWorks();
  }

  @Test
  @Tag("full")
  @DisplayName("A hundred failed swaps leave no bundle, thread, file or class loader")
  void nothingIsLeft() throws Exception {
    node.run(swap(node.base("2.0.0", "throws")));
    List<String> files = files();
    int threads = Thread.getAllStackTraces().size();
    long loaders = loaders();

    for (int number = 1; number <= 100; number++) {
      SwapStatus end = node.run(swap(node.base("2.0." + number, "throws")));
      assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    }

    assertEquals(BEFORE, node.organs());
    assertEquals(files, files());
    assertTrue(
        Thread.getAllStackTraces().size() <= threads + 2,
        () -> Thread.getAllStackTraces().keySet().toString());
    Await.until(
        SwapFixture.PATIENCE,
        "the class loaders to be collected",
        () -> {
          System.gc();
          return loaders() <= loaders + 1 && node.held().isEmpty();
        },
        () -> loaders() + " classes of organs, before " + loaders + "; " + node.held());
  }

  /** Returns the files of the store and the folders of the framework's cache. */
  private List<String> files() throws Exception {
    try (Stream<Path> stored = Files.walk(folder.resolve("plugins"));
        Stream<Path> cached = Files.list(folder.resolve("cache"))) {
      return Stream.concat(stored.filter(each -> !each.getParent().endsWith("generations")), cached)
          .map(each -> folder.relativize(each).toString().replaceAll("bundle[0-9]+$", "bundle"))
          .sorted()
          .toList();
    }
  }

  /** Returns how many classes of organs are in memory. */
  private static long loaders() throws Exception {
    Object histogram =
        ManagementFactory.getPlatformMBeanServer()
            .invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                "gcClassHistogram",
                new Object[] {new String[0]},
                new String[] {String[].class.getName()});
    return String.valueOf(histogram)
        .lines()
        .filter(line -> line.contains(BundleWiringImpl.BundleClassLoader.class.getName()))
        .mapToLong(line -> Long.parseLong(line.strip().split(" +")[1]))
        .sum();
  }

  /** Lets the swapping thread throw after a stage. */
  private void throwAt(String stage, String what) {
    node.onStage =
        passed -> {
          if (!passed.equals(stage)) {
            return;
          }
          if (what.equals("error")) {
            throw new NoClassDefFoundError("thrown by the test");
          }
          throw new IllegalStateException("thrown by the test");
        };
  }

  @ParameterizedTest(name = "at {0}")
  @ValueSource(strings = {"installed", "started", "switched", "retired"})
  @DisplayName("A stop of a bundle during a swap takes effect when the swap has ended")
  void stoppedInTheMiddle(String stage) throws Exception {
    Bundle above = node.bundle("dev.polis.above");
    CompletableFuture<Optional<String>> stop = new CompletableFuture<>();
    node.onStage =
        passed -> {
          if (passed.equals(stage)) {
            Thread.ofVirtual().start(() -> stop.completeAsync(() -> stop(above)));
          }
          assertEquals(Bundle.ACTIVE, above.getState(), passed);
        };

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(Optional.empty(), stop.get(60, TimeUnit.SECONDS));
    assertEquals(List.of("above 1.0.0 state " + Bundle.RESOLVED, "base 2.0.0"), node.organs());
    assertEquals(Optional.empty(), node.engine.start(above, "the test"));
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
  }

  @Test
  @DisplayName("A stop of a bundle that a swap replaces first is refused with the bundle's name")
  void replacedBeforeItsTurn() throws Exception {
    Bundle base = node.bundle("dev.polis.base");
    CompletableFuture<Optional<String>> stop = new CompletableFuture<>();
    node.onStage =
        passed -> {
          if (passed.equals("started")) {
            Thread.ofVirtual().start(() -> stop.completeAsync(() -> stop(base)));
          }
        };

    node.run(swap(node.base("2.0.0", "well")));

    String answer = stop.get(60, TimeUnit.SECONDS).orElse("");
    assertTrue(answer.contains("dev.polis.base 1.0.0 was replaced meanwhile"), answer);
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
  }

  @Test
  @Tag("attack")
  @DisplayName("A stopped bundle whose key was removed meanwhile is not started")
  void startOfAnUntrustedBundle() throws Exception {
    Bundle above = node.bundle("dev.polis.above");
    node.engine.stop(above, "the test");
    node.untrusted = node.digest("above");

    String refusal =
        assertThrows(SwapRefusedException.class, () -> node.engine.start(above, "the test"))
            .getMessage();

    assertTrue(refusal.contains("is not trusted"), refusal);
    assertEquals(Bundle.RESOLVED, above.getState());
  }

  private Optional<String> stop(Bundle bundle) {
    try {
      return node.engine.stop(bundle, "the test");
    } catch (SwapRefusedException | InterruptedException e) {
      return Optional.of(e.toString());
    }
  }

  @Test
  @DisplayName("A journal that cannot be written refuses the swap, and nothing has changed")
  void journalCannotBeWritten() throws Exception {
    node.block("swap");

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("the plugin store cannot be used"), () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals(BEFORE, node.generation());
  }

  @Test
  @DisplayName("A generation that cannot be written reverts the swap, and the old one counts")
  void generationCannotBeWritten() throws Exception {
    node.block("generations/2");

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("generation cannot be written"), () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals("1.0.0", node.served());
    assertEquals(BEFORE, node.generation());
  }

  @Test
  @DisplayName("A history that cannot be written is reported, and the swap counts")
  void historyCannotBeWritten() throws Exception {
    node.block("history");

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("history cannot be written"), () -> words(end));
    assertEquals("2.0.0", node.served());
  }
}
