package dev.polis.plugins.swap;

import static dev.polis.plugins.swap.SwapFixture.BEFORE;
import static dev.polis.plugins.swap.SwapFixture.configure;
import static dev.polis.plugins.swap.SwapFixture.outcome;
import static dev.polis.plugins.swap.SwapFixture.swap;
import static dev.polis.plugins.swap.SwapFixture.words;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.HealthCondition;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Digest;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import dev.polis.plugins.swap.BlastLine.Effect;
import dev.polis.plugins.swap.organs.EndlessMessage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Swaps bundles of a real framework. */
@Timeout(120)
class SwapEngineTest {
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
  @DisplayName("A newer version replaces the running one, and the generation is committed")
  void swapIsApplied() throws Exception {
    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
    assertEquals("2.0.0", node.served());
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.generation());
    assertEquals(
        List.of(
            "fetched",
            "verified",
            "resolved",
            "radius",
            "installed",
            "started",
            "proved",
            "switched",
            "gated",
            "committed",
            "retired"),
        end.stages().stream().map(SwapStage::name).toList());
    SwapRecord record = node.engine.history().getLast();
    assertEquals("applied", record.outcome());
    assertEquals("the test", record.who());
    assertEquals(Optional.empty(), SwapNotes.of(node.store).underWay());
  }

  @Test
  @DisplayName("A swap to the same version does nothing")
  void sameIsNothing() throws Exception {
    Path jar = node.base("2.0.0", "well");
    node.run(swap(jar));

    SwapStatus end = node.run(swap(jar));

    assertInstanceOf(SwapOutcome.NothingToDo.class, outcome(end), () -> words(end));
  }

  @Test
  @DisplayName("An older version is refused unless the request allows it")
  void olderIsRefused() throws Exception {
    Path older = node.base("0.9.0", "well");

    SwapStatus refused = node.run(swap(older));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(refused), () -> words(refused));
    assertTrue(words(refused).contains("0.9.0 is older than 1.0.0"), () -> words(refused));

    SwapStatus asked = node.run(swap(older), new SwapOptions("the test", false, false, true));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(asked), () -> words(asked));
    assertEquals("0.9.0", node.served());
  }

  @Test
  @DisplayName("A dry run lists the bundles that would stop, with the reasons, and changes nothing")
  void dryRun() throws Exception {
    SwapStatus end = node.run(swap(node.base("2.0.0", "well")), SwapOptions.by("the test").dry());

    assertInstanceOf(SwapOutcome.NothingToDo.class, outcome(end), () -> words(end));
    assertEquals(BEFORE, node.organs());
    SwapStage.Radius radius =
        end.stages().stream()
            .filter(SwapStage.Radius.class::isInstance)
            .map(SwapStage.Radius.class::cast)
            .findFirst()
            .orElseThrow();
    assertEquals(
        List.of(
            Effect.STARTS + " dev.polis.base 2.0.0",
            Effect.STOPS + " dev.polis.base 1.0.0",
            Effect.SERVICE_GOES + " java.util.function.Supplier",
            Effect.DEACTIVATES + " dev.polis.above",
            Effect.UNTOUCHED + " process etcd (17)"),
        radius.lines().stream().map(line -> line.effect() + " " + line.subject()).toList());
    assertTrue(
        radius.lines().stream().noneMatch(line -> line.reason().isBlank()), radius::toString);
    assertEquals(List.of(), node.engine.history());
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "throws, the ticket is too short: 3 bytes",
    "unhealthy, nothing answers on port 1",
    "then-unhealthy, nothing answers on port 1",
    "sleeps, it took longer than 2.0 s",
    "loops, does not end when interrupted",
  })
  @DisplayName("A broken version is reverted with the cause, while the old one keeps serving")
  void brokenIsReverted(String behaviour, String cause) throws Exception {
    node.engine = node.engine(limits(behaviour));
    SwapStatus end = node.run(swap(node.base("2.0.0", behaviour)));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains(cause), () -> words(end));
    assertTrue(
        end.stages().stream().noneMatch(SwapStage.Switched.class::isInstance), () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals("1.0.0", node.served());
    assertEquals(BEFORE, node.generation());
    assertEquals("reverted", node.engine.history().getLast().outcome());
  }

  /**
   * Returns settings with a short limit where a broken version must reach it, and long ones
   * elsewhere.
   */
  private static SwapSettings limits(String behaviour) {
    Duration deadline = Duration.ofMillis(1500);
    return switch (behaviour) {
      case "unhealthy" -> SwapFixture.settings(SwapFixture.GATE, deadline, SwapFixture.LONG);
      // The gate beside the predecessor must last until the version is unhealthy.
      case "then-unhealthy" ->
          SwapFixture.settings(Duration.ofSeconds(3), deadline, SwapFixture.LONG);
      case "sleeps", "loops" ->
          SwapFixture.settings(SwapFixture.GATE, SwapFixture.LONG, Duration.ofSeconds(2));
      default -> SwapFixture.SETTINGS;
    };
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "eats, 'are alive on the heap'",
    "eats-at-once, 'are alive on the heap'",
    "threads, 'more than before the swap, and 16 more are allowed'",
  })
  @DisplayName("A version that takes too much memory or too many threads is reverted, with figures")
  void greedyIsReverted(String behaviour, String cause) throws Exception {
    // Memory of the previous test would count as used before the swap until it is collected.
    System.gc();
    // The version's memory counts after a collection, which must happen before the gates end.
    node.engine =
        node.engine(SwapFixture.settings(SwapFixture.LONG, SwapFixture.LONG, SwapFixture.LONG));
    SwapStatus end = node.run(swap(node.base("2.0.0", behaviour)));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains(cause), () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals(BEFORE, node.generation());
    node.engine = node.engine(SwapFixture.SETTINGS);
    SwapStatus next = node.run(swap(node.base("2.0.1", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "A version whose exception never completes its message is reverted at the limit of a start")
  void endlessMessage() throws Exception {
    node.engine = node.engine(limits("loops"));
    SwapStatus end = node.run(swap(node.base("2.0.0", EndlessMessage.BEHAVIOUR)));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("it took longer than 2.0 s"), () -> words(end));
    assertEquals(BEFORE, node.organs());
    SwapStatus next = node.run(swap(node.base("2.0.1", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(next), () -> words(next));
  }

  @Test
  @DisplayName("A thread that outlives the version that started it is named")
  void leftThreadsAreNamed() throws Exception {
    SwapStatus end = node.run(swap(node.base("2.0.0", "thread-then-throws")));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("ticket is too short"), () -> words(end));
    assertTrue(words(end).contains("that it started run on until"), () -> words(end));
    assertTrue(words(end).contains("leak-0"), () -> words(end));
  }

  @Test
  @DisplayName(
      "A version that cannot read a later configuration is refused, and its dry run reports it")
  void olderThanItsConfiguration() throws Exception {
    node.run(swap(node.base("2.0.0", "wide")));
    node.run(configure("dev.polis.base.depth", "5"));
    Path older = node.base("1.5.0", "well");

    for (boolean dry : List.of(true, false)) {
      SwapStatus end = node.run(swap(older), new SwapOptions("the test", dry, false, true));

      assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
      assertTrue(words(end).contains("dev.polis.base.depth=5"), () -> words(end));
      assertTrue(words(end).contains("config unset dev.polis.base.depth"), () -> words(end));
      assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
    }
  }

  @Test
  @DisplayName("A rollback to a version that cannot read the command line reports it beforehand")
  void olderThanTheCommandLine() throws Exception {
    node.run(swap(node.base("2.0.0", "wide")));
    node.engine =
        node.engine(
            SwapFixture.SETTINGS, ConfigurationSet.none().with("dev.polis.base", "depth", "5"));

    for (boolean dry : List.of(true, false)) {
      SwapStatus end =
          node.run(new SwapOrder.Rollback(), new SwapOptions("the test", dry, false, true));

      assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
      assertTrue(words(end).contains("was started with dev.polis.base.depth=5"), () -> words(end));
      assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
    }
  }

  @Test
  @DisplayName(
      "A bundle that needs a newer platform is refused with the resolver's answer: required version, running version, remedy")
  void newerPlatformInWords() throws Exception {
    SwapStatus newer =
        node.run(
            swap(
                node.requiring(
                    "extra",
                    "2.0.0",
                    "polis.platform;filter:=\"(&(version>=1.5.0)(!(version>=2.0.0)))\"")));

    assertInstanceOf(SwapOutcome.Refused.class, outcome(newer), () -> words(newer));
    assertTrue(
        words(newer)
            .contains(
                "dev.polis.extra:2.0.0 needs the platform in a version of [1.5.0,2.0.0), and this process runs 1.4.0; this needs a new process: install a newer distribution, then \"polisctl node restart --runtime\""),
        () -> words(newer));
    assertEquals(BEFORE, node.organs());
    SwapStatus present =
        node.run(
            swap(node.requiring("extra", "2.1.0", "polis.platform;filter:=\"(version>=1.4)\"")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(present), () -> words(present));
  }

  @Test
  @DisplayName(
      "An organ or a role that a bundle requires and no bundle provides is named with the existing ones")
  void missingOrganInWords() throws Exception {
    SwapStatus organ =
        node.run(
            swap(
                node.requiring("extra", "2.0.0", "polis.organ;filter:=\"(polis.organ=metrics)\"")));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(organ), () -> words(organ));
    assertTrue(
        words(organ)
            .contains(
                "needs the organ metrics, which no bundle of this node provides (they provide sea)"),
        () -> words(organ));
    SwapStatus role =
        node.run(swap(node.requiring("extra", "2.0.1", "polis.role;filter:=\"(polis.role=Tea)\"")));
    assertTrue(
        words(role)
            .contains(
                "needs the role Tea, which no bundle of this node provides (they provide none)"),
        () -> words(role));
    SwapStatus there =
        node.run(
            swap(node.requiring("extra", "2.1.0", "polis.organ;filter:=\"(polis.organ=sea)\"")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(there), () -> words(there));
  }

  @Test
  @DisplayName("An imported package that no bundle exports is named with the available versions")
  void missingImportInWords() throws Exception {
    String supplier = "java.util.function.Supplier";
    SwapStatus none =
        node.run(
            swap(node.organ("base", "2.0.0", "a", supplier, "", "org.nowhere;version=\"[2,3)\"")));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(none), () -> words(none));
    assertTrue(
        words(none).contains("imports the package org.nowhere")
            && words(none).contains("which no bundle exports; it was built for another platform: "),
        () -> words(none));
    assertEquals(BEFORE, node.organs());

    SwapStatus other =
        node.run(
            swap(
                node.organ(
                    "base", "2.0.0", "b", supplier, "", "org.osgi.service.cm;version=\"[7,8)\"")));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(other), () -> words(other));
    assertTrue(
        words(other).contains("which the platform exports in version 1.6.1"), () -> words(other));
  }

  @Test
  @DisplayName("A bundle that needs a service without a provider is refused before it is installed")
  void missingService() throws Exception {
    SwapStatus end =
        node.run(swap(node.organ("base", "2.0.0", "well", "", "java.lang.Runnable", "")));

    assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("java.lang.Runnable"), () -> words(end));
    assertEquals(BEFORE, node.organs());
  }

  @Test
  @DisplayName("An order that fails, is refused or only tried leaves no file in the store")
  void noFileIsLeft() throws Exception {
    Set<Digest> before = node.store.files();

    node.run(swap(node.base("2.0.0", "throws")));
    node.run(swap(node.requiring("base", "2.1.0", "polis.organ;filter:=\"(polis.organ=moon)\"")));
    node.run(swap(node.base("2.2.0", "well")), SwapOptions.by("the test").dry());

    assertEquals(before, node.store.files());
  }

  @Test
  @DisplayName("A failed generation is refused unless it is forced")
  void failedIsRemembered() throws Exception {
    Path broken = node.base("2.0.0", "throws");
    node.run(swap(broken));

    SwapStatus again = node.run(swap(broken));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(again), () -> words(again));
    assertTrue(words(again).contains("--force"), () -> words(again));
    assertTrue(words(again).contains("ticket is too short"), () -> words(again));

    SwapStatus forced = node.run(swap(broken), SwapOptions.by("the test").forced());
    assertInstanceOf(SwapOutcome.Reverted.class, outcome(forced), () -> words(forced));

    SwapStatus mended = node.run(swap(node.base("2.0.1", "well")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(mended), () -> words(mended));
  }

  @Test
  @DisplayName("Faults from before the swap do not count against it")
  void brokenBefore() throws Exception {
    node.health()
        .organ("elsewhere", "")
        .set(HealthCondition.down("broken", "it has been broken for days", ""));

    SwapStatus end = node.run(swap(node.base("2.0.0", "well")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
  }

  @Test
  @DisplayName("An organ that only works alone is judged after its predecessor has stopped")
  void aloneIsJudgedLater() throws Exception {
    SwapStatus added = node.run(swap(node.organ("alone", "1.0.0", "alone", "", "", "")));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(added), () -> words(added));

    SwapStatus end = node.run(swap(node.organ("alone", "2.0.0", "alone", "", "", "")));

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(List.of("above 1.0.0", "alone 2.0.0", "base 1.0.0"), node.organs());
  }

  @Test
  @DisplayName("A version that fails after its predecessor stopped is replaced by it again")
  void revertAfterTheSwitch() throws Exception {
    node.run(swap(node.organ("alone", "1.0.0", "alone", "", "", "")));

    // Long enough for the restart of the predecessor, which has the same deadline.
    node.engine =
        node.engine(
            SwapFixture.settings(SwapFixture.GATE, Duration.ofSeconds(5), SwapFixture.LONG));
    SwapStatus end = node.run(swap(node.organ("alone", "2.0.0", "unhealthy", "", "", "")));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(
        end.stages().stream().anyMatch(SwapStage.Switched.class::isInstance), () -> words(end));
    assertEquals(List.of("above 1.0.0", "alone 1.0.0", "base 1.0.0"), node.organs());
  }

  @Test
  @DisplayName("A rollback runs the previous generation, as a new one")
  void rollback() throws Exception {
    node.run(swap(node.base("2.0.0", "well")));

    SwapStatus end = node.run(new SwapOrder.Rollback());

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(BEFORE, node.organs());
    assertEquals(3, node.store.current().orElseThrow().number());
    assertEquals(BEFORE, node.generation());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "A rollback to a plugin whose key was removed meanwhile is refused, and nothing changes")
  void rollbackToAnUntrustedPlugin() throws Exception {
    node.untrusted = node.digest("base");
    node.run(swap(node.base("2.0.0", "well")));

    SwapStatus end = node.run(new SwapOrder.Rollback());

    assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("is not trusted"), () -> words(end));
    assertEquals(List.of("above 1.0.0", "base 2.0.0"), node.organs());
  }

  @Test
  @DisplayName("A rollback of the first generation is refused with the reason")
  void noWayBack() throws Exception {
    SwapStatus end = node.run(new SwapOrder.Rollback());

    assertInstanceOf(SwapOutcome.Refused.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("is the first"), () -> words(end));
  }

  @Test
  @DisplayName("A plugin is removed; one that is missing, or that others need, is refused")
  void removal() throws Exception {
    SwapStatus nobody = node.run(new SwapOrder.Remove("dev.polis.nobody"));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(nobody), () -> words(nobody));
    SwapStatus needed = node.run(new SwapOrder.Remove("dev.polis.base"));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(needed), () -> words(needed));
    assertTrue(words(needed).contains("dev.polis.above"), () -> words(needed));

    SwapStatus removed = node.run(new SwapOrder.Remove("dev.polis.above"));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(removed), () -> words(removed));
    assertEquals(List.of("base 1.0.0"), node.organs());
  }

  @Test
  @DisplayName("A swap is announced before services go, in either direction")
  void announcements() throws Exception {
    List<String> heard = new ArrayList<>();
    node.listeners.add(
        new SwapListener() {
          @Override
          public void begins(List<Replacement> replacements) {
            heard.add("begins " + replacements.size() + " " + node.served());
          }

          @Override
          public void switches(List<Replacement> replacements) {
            heard.add(
                "switches "
                    + (replacements.getFirst().successor()
                        > replacements.getFirst().predecessor()));
          }

          @Override
          public void ends(List<Replacement> replacements, boolean applied) {
            heard.add("ends " + applied + " " + node.served());
          }
        });
    node.run(swap(node.base("2.0.0", "well")));
    node.run(swap(node.base("3.0.0", "throws")));

    assertEquals(
        List.of(
            "begins 1 1.0.0",
            "switches true",
            "ends true 2.0.0",
            "begins 1 2.0.0",
            "ends false 2.0.0"),
        heard);
  }

  @Test
  @DisplayName("A change of a configuration starts a second instance, which replaces the first")
  void aConfigurationIsASwap() throws Exception {
    List<Replacement> heard = new ArrayList<>();
    node.listeners.add(
        new SwapListener() {
          @Override
          public void begins(List<Replacement> replacements) {
            heard.addAll(replacements);
          }
        });
    List<String> beside = new ArrayList<>();
    node.onStage =
        stage -> {
          if (stage.equals("started")) {
            beside.addAll(node.ports());
          }
        };

    for (int port : List.of(99, 98, 97)) {
      SwapStatus end = node.run(configure("dev.polis.base.port", String.valueOf(port)));
      assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
      assertEquals(List.of(String.valueOf(port)), node.ports());
      assertEquals(port, port());
    }
    assertEquals(
        List.of("99", "null", "98", "99", "97", "98"), beside, "the values that both have read");

    assertEquals(3, heard.size(), heard::toString);
    assertTrue(
        heard.stream()
            .allMatch(
                each ->
                    each.symbolicName().equals("dev.polis.base")
                        && each.predecessor() < each.successor()),
        heard::toString);
    assertEquals(BEFORE, node.organs());
    List<String> configured = node.configurations();
    assertEquals(2, configured.size(), configured::toString);
  }

  @Test
  @DisplayName(
      "A bundle that is swapped in with a configuration starts with it, and the old one keeps its own")
  void configurationWithABundle() throws Exception {
    node.prepareRollback(
        node.base("2.0.0", "well"), ConfigurationSet.none().with("dev.polis.base", "port", "99"));
    List<String> beside = new ArrayList<>();
    node.onStage =
        stage -> {
          if (stage.equals("started")) {
            beside.addAll(node.ports());
          }
        };

    SwapStatus end = node.run(new SwapOrder.Rollback());

    assertInstanceOf(SwapOutcome.Applied.class, outcome(end), () -> words(end));
    assertEquals(List.of("99", "null"), beside, "the values that both have read");
    assertEquals(List.of("99"), node.ports());
    assertEquals("2.0.0", node.served());
  }

  @Test
  @DisplayName("A configuration is a generation of its own, and a rollback restores it")
  void configurationIsAGeneration() throws Exception {
    SwapStatus set = node.run(configure("dev.polis.base.port", "99"));
    assertInstanceOf(SwapOutcome.Applied.class, outcome(set), () -> words(set));
    assertEquals(99, port());
    assertEquals(2, node.store.current().orElseThrow().number());

    SwapStatus back = node.run(new SwapOrder.Rollback());
    assertInstanceOf(SwapOutcome.Applied.class, outcome(back), () -> words(back));
    assertEquals(1, port(), "the command line decides again");
  }

  @Test
  @DisplayName(
      "A configuration with which the organ fails is reverted, while the organ keeps serving")
  void badConfiguration() throws Exception {
    SwapStatus end = node.run(configure("dev.polis.base.port", "13"));

    assertInstanceOf(SwapOutcome.Reverted.class, outcome(end), () -> words(end));
    assertTrue(words(end).contains("port 13 brings bad luck"), () -> words(end));
    assertTrue(
        end.stages().stream().noneMatch(SwapStage.Switched.class::isInstance), () -> words(end));
    assertEquals(List.of("null"), node.ports());
    assertEquals(List.of(), node.configurations());
    assertEquals(1, node.store.current().orElseThrow().number());
    assertEquals("1.0.0", node.served());
  }

  @Test
  @DisplayName(
      "An unknown key and a value of another type are refused with the nearest key and the right type")
  void unknownKeys() throws Exception {
    SwapStatus key = node.run(configure("dev.polis.base.prot", "99"));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(key), () -> words(key));
    assertTrue(words(key).contains("did you mean \"port\"?"), () -> words(key));

    SwapStatus value = node.run(configure("dev.polis.base.port", "many"));
    assertInstanceOf(SwapOutcome.Refused.class, outcome(value), () -> words(value));
    assertTrue(words(value).contains("no whole number"), () -> words(value));
  }

  private int port() throws Exception {
    return (Integer) node.configuration("dev.polis.base").get("port");
  }
}
